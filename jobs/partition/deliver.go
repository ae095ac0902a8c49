package partition

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// An Answer is the result of one fetch of contiguous partitions, as files on disk. The files of its
// parts belong to whoever has the answer.
type Answer struct {
	Parts   []table.Part
	Fetched time.Time // start of the first request
	None    bool      // the service had nothing to say (204), not even a header

	Control map[civil.Date]*ledger.Control // how each partition compares with the service's totals; nil: it has none
	Raw     []string                       // keys of the kept answers, none if none are kept
	Scope   string                         // ID of the ledger.Scope that the token showed; empty: it isn't known
	Refused []string                       // apps whose rows aren't in it, because the service refuses them
	// Hidden has the apps that the token showed when a partition was fetched last, and shows no
	// more.
	Hidden map[civil.Date][]string

	Replayed time.Time // when a kept answer was read again; zero: the service has just given this one

	wholeCause string // the cause of the whole answer, if this one is only a part of it
}

// Only returns the answer with some of its parts. It keeps the cause of the whole answer.
func (a Answer) Only(parts ...table.Part) Answer {
	a.wholeCause = a.cause()
	a.Parts = parts
	return a
}

// cause returns what the answer as a whole was, which explains a partition without rows.
func (a Answer) cause() string {
	if a.wholeCause != "" {
		return a.wholeCause
	}
	if a.None {
		return "204"
	}
	for _, p := range a.Parts {
		if p.Rows > 0 {
			return "no rows of that period"
		}
	}
	return "header only"
}

// Converter makes the converter that turns an answer about these partitions into parts.
func (t *Table) Converter(d Definition, partitions []civil.Date) (*table.Converter, error) {
	units, err := d.units()
	if err != nil {
		return nil, err
	}
	return table.New(table.Options{
		Columns: d.Columns, Ignored: d.Ignored, Strict: d.Strict, Route: d.Route, Partitions: partitions,
		Dir: t.o.SpoolDir, Hold: t.o.Hold, Codec: t.o.Codec, Pages: t.o.Pages, Budget: t.o.Budget, Run: t.o.Run,
		Mending: t.Mending(),
		Metadata: map[string]string{
			"table": t.o.Name, "fingerprint": d.Shape.FingerprintID(),
			// The text makes every file another one, also of the same rows. S3's ETag, which
			// conditional writes go by, is a sum over the bytes, and a late write meant for an
			// older file of the same rows must not pass for one meant for this.
			"fetch": rand.Text(),
			"units": units, "currency": d.Shape.Fingerprint["currency"], // for whoever has the file alone
		},
	})
}

// Mending returns which texts are altered: those that no file can hold, and those that a sink
// can't. A table that is to fail because of such texts alters none.
func (t *Table) Mending() table.Mending {
	noNUL := func(target ledger.Target) bool { _, no := target.Sink.(sinks.NoNUL); return no }
	return table.Mending{UTF8: !t.o.FailText, DropNUL: !t.o.FailText && slices.ContainsFunc(t.o.Targets, noNUL)}
}

// Deliver publishes the parts of an answer, and removes their files. It goes on after a partition
// that fails, but not after the lease is lost: those that are left then count as failed. w is the
// window as Begin gives it, with the records from before the fetch and the reasons of the fetch.
func (t *Table) Deliver(ctx context.Context, l *ledger.Lease, d Definition, w refresh.Window,
	a Answer) (out ledger.Outcome, err error) {
	began := time.Now()
	defer func() { out.Put += time.Since(began) }()
	var list []Publication
	for _, part := range a.Parts {
		defer part.Remove()
		t.countAltered(d, part, &out)
		list = append(list, t.publication(d, w, a, part))
	}
	var errs []error
	left, unchanged := false, false
	for i, r := range t.PublishAll(ctx, l, list) {
		if r.Err != nil {
			out.Failed++
			if errors.Is(r.Err, errLeft) {
				r.Err, left = nil, true
			}
			errs = append(errs, r.Err)
			continue
		}
		t.summarize(w, a, a.Parts[i], r, &out)
		unchanged = unchanged || r.State == ledger.Unchanged
	}
	if unchanged {
		t.configure(ctx, d.Schema, list[0].Warn)
	}
	if left {
		errs = append(errs, ctx.Err()) // nil when the lease is lost, which another error says
	}
	return out, errors.Join(errs...)
}

// publication makes the publication of one part of an answer.
func (t *Table) publication(d Definition, w refresh.Window, a Answer, part table.Part) Publication {
	return Publication{
		Part: sinks.Part{
			Table: t.o.Name, Partition: part.Partition, Rows: part.Rows, Size: part.Size, Hash: part.Hash, Run: t.o.Run,
			Schema: d.Schema,
			Open:   part.Open,
		},
		Base: w.Base[part.Partition], Run: t.o.Run, Reason: w.Reason(part.Partition), Fetched: a.Fetched,
		Replayed: a.Replayed, Cause: a.cause(),
		Finality: d.Rules.Finality(part.Partition, a.Fetched).State, Shape: d.Shape.ID(), Sums: part.Sums,
		Control: a.Control[part.Partition], Raw: a.Raw, Scope: a.Scope, Hidden: a.Hidden[part.Partition],
		Falling: d.falling(), OnEmpty: t.o.OnEmpty, Guard: t.o.Guard, Again: t.o.Again,
		Warn: func(err error) { t.o.Log.Warn("the sink has a remark", "job", t.o.Job, "run", t.o.Run, "error", err) },
	}
}

// summarize counts a partition that was published or held back, and logs what is to be known of it.
func (t *Table) summarize(w refresh.Window, a Answer, part table.Part, r Result, out *ledger.Outcome) {
	if r.Held != nil {
		if r.Held.Since.Equal(r.Held.Last) {
			out.HeldBack++
		} else {
			out.StillHeld++
		}
		t.o.Log.Warn("an answer is held back, and the old rows stay", "job", t.o.Job, "run", t.o.Run, "window",
			part.Partition.String(), "difference", r.Held.Why)
		return
	}
	out.Rows += part.Rows
	out.ParquetBytes += r.Size
	out.Count(r.State)
	if c := a.Control[part.Partition]; c != nil && c.State == ledger.Unreconciled {
		if e, _ := t.Record(part.Partition); e.Stands() {
			out.StillDiffers++
		} else {
			out.Unreconciled++
		}
		t.o.Log.Warn(c.Headline(), "job", t.o.Job, "run", t.o.Run, "window", part.Partition.String(), "difference",
			c.Say())
	}
	if t.moved(w.Base[part.Partition], a.Fetched) {
		out.Moved++
	}
	if r.State == ledger.Kept {
		t.o.Log.Warn("the answer has no rows, the old ones stay", "job", t.o.Job, "run", t.o.Run, "window",
			part.Partition.String())
	}
}

// countAltered counts and logs the cells whose values were changed: rounded, altered or made NULL.
func (t *Table) countAltered(d Definition, p table.Part, out *ledger.Outcome) {
	for column, n := range p.Rounded {
		out.Rounded += n
		t.o.Log.Debug("rounded to six decimals", "job", t.o.Job, "window", p.Partition.String(), "column", column,
			"rows", n)
	}
	for _, a := range p.Altered {
		out.Alter(ledger.Alteration{Column: a.Column, What: a.What, Cells: a.Cells,
			First: strings.TrimSpace(fmt.Sprintf("%s in row %d of the answer about %s", a.Value, a.Row, p.Partition))})
	}
	for column, n := range p.Nulls {
		if d.asked(column) {
			out.Nulls += n
			t.o.Log.Warn("blank cells became NULL", "job", t.o.Job, "window", p.Partition.String(), "column", column,
				"rows", n)
		}
	}
}
