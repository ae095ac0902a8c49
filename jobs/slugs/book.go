package slugs

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/civil"
	"gocloud.dev/gcerrors"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// A Moment says between which snapshots a change happened.
type Moment struct {
	After civil.Date `json:"after"` // day of the last snapshot without it
	Day   civil.Date `json:"day"`   // day of the first one with it
	Seen  time.Time  `json:"seen"`  // when that one was taken
	Run   string     `json:"run"`
}

// When is the moment for people. Two snapshots of one day are told apart by the time of the later.
func (m Moment) When() string {
	if m.After == m.Day {
		return fmt.Sprintf("on %s, before %s UTC", m.Day, m.Seen.UTC().Format("15:04"))
	}
	return fmt.Sprintf("between %s and %s", m.After, m.Day)
}

// A Snapshot is what a run has seen of the account's slugs.
type Snapshot struct {
	Events   []Event    `json:"events"`
	Question string     `json:"question"` // what was asked; lists of other questions can't be compared
	Day      civil.Date `json:"day"`
	Seen     time.Time  `json:"seen"`
	Run      string     `json:"run"`
}

// A Record is the last snapshot and all changes before it, oldest first.
type Record struct {
	Snapshot
	Changes []Change `json:"changes"`
}

// Has tells whether the last snapshot has a slug, in an app if one is named.
func (r Record) Has(slug, app string) bool {
	return slices.ContainsFunc(r.Events, func(e Event) bool {
		return e.Slug == slug && (app == "" || slices.ContainsFunc(e.Owners, func(o Owner) bool { return o.App == app || o.App == "" }))
	})
}

// A Book is what the ledger keeps of the slugs that one job of kind events sees.
type Book struct {
	Job    string
	folder *ledger.Folder
}

// Open gives the book of a job's table. Nothing is read.
func Open(l *ledger.Ledger, job, table string) *Book {
	const cost = "which slugs changed, and when, would be forgotten"
	return &Book{Job: job, folder: l.Folder(table, "slugs", cost)}
}

// tries is how often a step is begun anew after another process was faster.
const tries = 5

// Newest reads the record that holds, and its number: a zero record and 0 when there is none.
func (b *Book) Newest(ctx context.Context) (r Record, n int, err error) {
	for range tries {
		keys, err := b.folder.Keys(ctx, "")
		if err != nil {
			return r, 0, err
		}
		if n = newest(keys); n == 0 {
			return r, 0, nil
		}
		if err = b.folder.Read(ctx, key(n), &r); gcerrors.Code(err) != gcerrors.NotFound {
			return r, n, err
		}
		r = Record{} // a later one has replaced it meanwhile
	}
	return r, 0, fmt.Errorf("%w: %s changes faster than it can be read", ledger.ErrBucket, b.folder.Location(key(n)))
}

// Note compares a snapshot with the last one and keeps both the list and the changes, in one object: after a crash
// either both are there or neither, and the next snapshot finds what this one would have. A snapshot that is older than
// the one on record, or the same on the same day, changes nothing. So does one without any event: an account that has
// lost all of them is more likely to be a wrong answer. The changes are those of this snapshot.
func (b *Book) Note(ctx context.Context, s Snapshot) ([]Change, error) {
	s.Events = sorted(s.Events)
	for range tries {
		r, n, err := b.Newest(ctx)
		if err != nil || len(s.Events) == 0 || n > 0 && !s.Seen.After(r.Seen) {
			return nil, err
		}
		var changes []Change
		if n > 0 && r.Question == s.Question {
			changes = Compare(r.Events, s.Events)
			if changes == nil && r.Day == s.Day && slices.EqualFunc(r.Events, s.Events, alike) {
				return nil, nil
			}
		}
		for i := range changes {
			changes[i].Moment = Moment{After: r.Day, Day: s.Day, Seen: s.Seen, Run: s.Run}
		}
		holds, err := b.folder.Create(ctx, key(n+1), Record{s, append(r.Changes, changes...)})
		if err == nil && holds {
			holds, err = b.folder.Holds(ctx, nil, "", n+1)
		}
		if err != nil {
			return nil, err
		}
		if holds {
			b.tidy(ctx, n+1)
			return changes, nil
		}
	}
	return nil, fmt.Errorf("%w: note the slugs in %s: other runs were faster %d times", ledger.ErrBucket, b.folder.Location(""), tries)
}

// tidy drops the records below the one that holds. One that stays does no harm.
func (b *Book) tidy(ctx context.Context, n int) {
	keys, _ := b.folder.Keys(ctx, "")
	for _, k := range keys {
		if ledger.NumberOf(k) < n {
			_ = b.folder.Drop(ctx, k)
		}
	}
}

func key(n int) string { return fmt.Sprintf("%06d.json", n) }

func newest(keys []string) (n int) {
	for _, k := range keys {
		n = max(n, ledger.NumberOf(k))
	}
	return n
}

// alike tells whether two events are the same but for the order of owners, which sorted has settled.
func alike(a, b Event) bool { return a.Label == b.Label && slices.Equal(a.Owners, b.Owners) }
