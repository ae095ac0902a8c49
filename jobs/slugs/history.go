package slugs

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// A Moment says between which snapshots a change happened.
type Moment struct {
	After civil.Date `json:"after"` // day of the last snapshot without the change
	Day   civil.Date `json:"day"`   // day of the first snapshot with it
	Seen  time.Time  `json:"seen"`  // when the snapshot of Day was taken
	Run   string     `json:"run"`
}

// When returns the moment as a text. For two snapshots of one day, it has the time of the later
// one.
func (m Moment) When() string {
	if m.After == m.Day {
		return fmt.Sprintf("on %s, before %s UTC", m.Day, m.Seen.UTC().Format("15:04"))
	}
	return fmt.Sprintf("between %s and %s", m.After, m.Day)
}

// A Snapshot is the account's slugs as a run has seen them.
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
	Changes []Change `json:"changes,omitempty"`
	Token   string   `json:"token"` // of this record alone
}

// Has reports whether the last snapshot has a slug, in the app if app isn't "".
func (r Record) Has(slug, app string) bool {
	return slices.ContainsFunc(r.Events, func(e Event) bool {
		return e.Slug == slug && (app == "" || slices.ContainsFunc(e.Owners,
			func(o Owner) bool { return o.App == app || o.App == "" }))
	})
}

// Notes is the document of what the ledger has about a table as a whole.
type Notes struct {
	Slugs       *Record             `json:"slugs,omitempty"` // of a job of kind events
	DriftChecks refresh.DriftChecks `json:"looks,omitempty"` // of final partitions of a job of kind report
}

// NotesOf returns the Notes document of a table. cost says what deleting the document would lose,
// for the error when it is damaged.
func NotesOf(l *ledger.Ledger, table, cost string) *ledger.Document[Notes] {
	return ledger.NewDocument[Notes](l, "tables/"+table+"/notes.json", cost)
}

// A History is what the ledger keeps of the slugs that one job of kind events sees.
type History struct {
	Job   string
	notes *ledger.Document[Notes]
}

// Open returns the history of a job's table. It reads nothing yet.
func Open(l *ledger.Ledger, job, table string) *History {
	return &History{job, NotesOf(l, table, "which slugs changed, and when, would be forgotten")}
}

// Last reads the record, which is zero when there is none.
func (h *History) Last(ctx context.Context) (Record, error) {
	n, _, err := h.notes.Load(ctx)
	if n.Slugs == nil {
		n.Slugs = &Record{}
	}
	return *n.Slugs, err
}

// Note compares a snapshot with the last one, and records the snapshot and the changes in one
// compare-and-swap. It returns the changes of this snapshot. Nothing is recorded for
//   - a snapshot that is older than the recorded one
//   - a snapshot that is equal to the recorded one, on the same day
//   - a snapshot without any event, which is more likely a wrong answer than an account that has
//     lost all of its events
func (h *History) Note(ctx context.Context, s Snapshot) (changes []Change, err error) {
	s.Events = sorted(s.Events)
	token := rand.Text()
	mine := func(n *Notes) bool { return n.Slugs != nil && n.Slugs.Token == token }
	err = h.notes.Change(ctx, ledger.Change[Notes]{Done: mine, Apply: func(n *Notes) error {
		changes = nil
		r := n.Slugs
		if len(s.Events) == 0 || r != nil && !s.Seen.After(r.Seen) {
			return ledger.ErrNothing
		}
		if r == nil {
			r = &Record{}
		} else if r.Question == s.Question {
			changes = Compare(r.Events, s.Events)
			if changes == nil && r.Day == s.Day && slices.EqualFunc(r.Events, s.Events, alike) {
				return ledger.ErrNothing
			}
		}
		for i := range changes {
			changes[i].Moment = Moment{After: r.Day, Day: s.Day, Seen: s.Seen, Run: s.Run}
		}
		n.Slugs = &Record{s, append(r.Changes, changes...), token}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	return changes, nil
}

// alike reports whether two events of one slug are equal. Their owners must have been sorted.
func alike(a, b Event) bool { return a.Label == b.Label && slices.Equal(a.Owners, b.Owners) }
