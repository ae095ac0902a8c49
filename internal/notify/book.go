package notify

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"

	"gocloud.dev/gcerrors"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// A subject is one reason of one job. What is known of it changes at once, so that of all who know something new one tells it, and the
// others see that it is told, also when they met the trouble in other days of the same row.
type subject struct {
	Job    string `json:"job"`
	Reason string `json:"reason"`
}

func (s subject) under() string { return url.PathEscape(s.Job) + "/" + url.PathEscape(s.Reason) + "/" }

// A page has the incidents of a subject. Its pages have ascending numbers; the highest holds.
type page struct {
	subject
	Incidents []incident `json:"incidents"`

	number int // 0: there is none
}

func (p page) key(number int) string { return fmt.Sprintf("%s%06d.json", p.under(), number) }

// A book has the pages of a ledger.
type book struct{ folder *ledger.Folder }

func bookOf(l *ledger.Ledger) book {
	return book{l.Folder("_notify", "incidents", "one incident is told of again")}
}

// subjects are those of which something is known.
func (b book) subjects(ctx context.Context) (list []subject, err error) {
	keys, err := b.folder.Keys(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		under, reason := path.Split(path.Dir(key))
		job, err := url.PathUnescape(path.Clean(under))
		if s := (subject{job, reason}); err == nil && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list, nil
}

// change has a page edited and written, anew for as long as others write it at the same time. edit says whether there is anything to write.
func (b book) change(ctx context.Context, s subject, edit func(*page) bool) error {
	for {
		p, err := b.read(ctx, s)
		switch {
		case gcerrors.Code(err) == gcerrors.NotFound: // a later page has replaced it meanwhile
			continue
		case err != nil || !edit(&p):
			return err
		}
		if done, err := b.write(ctx, p); err != nil || done {
			return err
		}
	}
}

// read gives the page that holds. One that can't be trusted is dropped: to tell of an incident twice is better than never.
func (b book) read(ctx context.Context, s subject) (page, error) {
	keys, err := b.folder.Keys(ctx, s.under())
	if err != nil {
		return page{}, err
	}
	p := page{subject: s}
	for _, key := range keys {
		p.number = max(p.number, ledger.NumberOf(key))
	}
	if p.number == 0 {
		return p, nil
	}
	var damaged *ledger.DamagedError
	if err = b.folder.Read(ctx, p.key(p.number), &p); errors.As(err, &damaged) {
		return page{subject: s, number: p.number}, nil
	}
	return p, err
}

// write makes a page the one that holds, unless another process has changed what it was made of. An empty one takes all with it.
func (b book) write(ctx context.Context, p page) (bool, error) {
	if len(p.Incidents) == 0 {
		return true, b.forget(ctx, p)
	}
	done, err := b.folder.Create(ctx, p.key(p.number+1), p)
	if err != nil || !done {
		return false, err
	}
	done, err = b.folder.Holds(ctx, nil, p.under(), p.number+1)
	if done && p.number > 0 {
		_ = b.folder.Drop(ctx, p.key(p.number)) // if it stays it does no harm
	}
	return done, err
}

// forget drops the pages of a subject up to this one, which goes last: until then it holds.
func (b book) forget(ctx context.Context, p page) error {
	keys, err := b.folder.Keys(ctx, p.under())
	if err != nil {
		return err
	}
	slices.SortFunc(keys, func(a, b string) int { return ledger.NumberOf(a) - ledger.NumberOf(b) })
	for _, key := range keys {
		if ledger.NumberOf(key) > p.number {
			break
		}
		if err := b.folder.Drop(ctx, key); err != nil {
			return err
		}
	}
	return nil
}
