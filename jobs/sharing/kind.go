package sharing

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/outbox/files"
)

// Options describe one sharing job.
type Options struct {
	files.Options

	Client *adjust.Client // at the host of third-party sharing, with a limiter of its own

	Columns, Constants map[string]string // see files.Mapping
	Ignore             []string          // columns of the files to skip; any other must belong to a field
	Partners           Partners

	// FormObjects sends settings of partners as the service's page describes them, a list of
	// objects with partnerName, key and value, and not as one object, as its SDKs do.
	FormObjects bool

	// RejectMalformed refuses IDs that don't have the form of Apple's and Google's, instead of
	// sending them with a warning.
	RejectMalformed bool

	SendLate bool // send a device's records even after those of a later day, instead of rejecting them
	ShowIDs  bool // log the IDs of devices whose records were rejected
}

// Kind does the work of a sharing job: it reads files with users' choices about third-party
// sharing, and sends them to the service.
type Kind struct {
	files.Pusher

	o     Options
	check checker
}

// New makes the kind. Nothing is read yet.
func New(o Options) *Kind {
	k := &Kind{o: o, check: checker{o.Partners}}
	k.Pusher = files.NewPusher(o.Options, files.Ways{Order: k.order, Push: k.do, Check: k.Check})
	return k
}

// order sorts files by day, and by name within a day.
func (k *Kind) order(ctx context.Context, due []files.Path) (err error) {
	days := map[string]string{}
	for _, p := range due {
		if days[p.Name], err = k.dayOf(ctx, p); err != nil {
			return err
		}
	}
	slices.SortStableFunc(due, func(a, b files.Path) int {
		return cmp.Or(strings.Compare(days[a.Name], days[b.Name]), strings.Compare(a.Name, b.Name))
	})
	return nil
}

// dayOf returns the day in the file's name, or else the day on which the file was last modified.
func (k *Kind) dayOf(ctx context.Context, p files.Path) (string, error) {
	if day := files.DayOf(p.Key); day != "" {
		return day, nil
	}
	stat, err := p.Stat(ctx)
	return stat.Modified.In(k.o.Inbox.Zone).Format(time.DateOnly), err
}

// mapping says which columns the fields of a record come from. A column that belongs to no field
// is an error: if its name were misspelt, the choices in it would never be sent.
func (k *Kind) mapping() files.Mapping {
	m := files.Mapping{Columns: k.o.Columns, Constants: k.o.Constants, Strict: true, Ignore: k.o.Ignore}
	for f, name := range names {
		one := files.Field{Name: name, From: files.Found, ID: field(f) == idfa || field(f) == gpsAdID ||
			field(f) == deviceID, JSON: field(f) == partnerSettings || field(f) == options}
		if field(f) == appToken {
			one.From = files.Own
		}
		m.Fields = append(m.Fields, one)
	}
	return m
}

// file says how one file is read and its records are checked. n collects the rows that a person
// should look at.
func (k *Kind) file(p files.Path, n *notes) *files.File[Choice] {
	return &files.File[Choice]{Path: p, Mapping: k.mapping(), Spool: k.o.SpoolDir,
		Record: func(cells []string, o *outbox.Record[Choice]) {
			r, refused := k.check.record((*values)(cells))
			malformed := refused == nil && r.malformed()
			if malformed && k.o.RejectMalformed {
				refused = &files.Refusal{Reason: noForm}
			}
			if refused != nil {
				o.Refusal = &outbox.Rejection{Field: refused.Field, Reason: refused.Reason}
				return
			}
			o.ID, o.Also = r.IDs()
			o.Content, o.Value = r.Content(), r
			n[strange].note(o.Row, r.Strange)
			n[malformedID].note(o.Row, malformed)
		}}
}
