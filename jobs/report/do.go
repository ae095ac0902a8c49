package report

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/partition"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// do fetches the partitions of a window that are still due and publishes each. Partitions that fail don't stop the
// others; the error joins what went wrong with them.
func (p *plan) do(ctx context.Context, window refresh.Window, claim ledger.Hold) (ledger.Outcome, error) {
	window, err := p.table.StillDue(ctx, window)
	if err != nil || len(window.Due) == 0 {
		return ledger.Outcome{}, err
	}
	var m adjust.Meter
	f := &fetch{plan: p, claim: claim, base: window.Base, client: p.o.Client.Metered(&m), trial: &p.trial}
	if f.cols, err = p.resolve(ctx, f.client); err == nil {
		for _, run := range window.Runs() {
			err = errors.Join(err, f.partitions(ctx, run))
			if errors.Is(err, jobs.ErrStop) {
				break
			}
		}
	} else {
		f.out.Failed = len(window.Due)
	}
	f.out.Measure(m.Totals())
	switch {
	case errors.Is(err, adjust.ErrAuth):
		err = fmt.Errorf("%w: %w", jobs.ErrDenied, err)
	case errors.Is(err, adjust.ErrClock):
		err = fmt.Errorf("%w: %w", jobs.ErrStop, err)
	}
	return f.out, err
}

// A fetch does one window.
type fetch struct {
	*plan
	claim  ledger.Hold
	base   ledger.Records // what the ledger held before the fetch
	client *adjust.Client
	cols   *columns
	trial  *trial // of these columns
	out    ledger.Outcome
}

// An answer is what one row of partitions became on disk.
type answer struct {
	parts   []table.Part
	fetched time.Time
	none    bool // 204
}

// partitions fetches a contiguous row of partitions and publishes them. A row that takes the service too long is
// halved, and a single partition is asked for app by app.
func (f *fetch) partitions(ctx context.Context, row []civil.Date) error {
	a, err := f.ask(ctx, row)
	if errors.Is(err, adjust.ErrTooSlow) && len(row) > 1 {
		half := len(row) / 2
		return errors.Join(f.partitions(ctx, row[:half]), f.partitions(ctx, row[half:]))
	}
	if errors.Is(err, adjust.ErrTooSlow) && f.splitsByApp() {
		a, err = f.byApp(ctx, row[0])
	}
	if err != nil {
		f.out.Failed += len(row)
		return fmt.Errorf("fetch %s/%s: %w%s", f.o.Table, span(row), err, f.advice(err))
	}
	return f.publish(ctx, a)
}

// advice says what a person can do about a metric that the service refuses, or about a single partition that takes it
// too long.
func (f *fetch) advice(err error) string {
	var failed *adjust.Error
	if !errors.As(err, &failed) {
		return ""
	}
	if near := catalog.Nearest(failed.Metric, catalog.Metrics()); failed.Metric != "" && len(near) > 0 {
		return fmt.Sprintf("; near %s: %s", failed.Metric, strings.Join(near, ", "))
	}
	if failed.Status != http.StatusGatewayTimeout || f.splitsByApp() {
		return ""
	}
	return "; with app_token as a dimension and the apps named under filters: app_token__in, one partition is asked " +
		"for in pieces"
}

// span names a row of partitions for people.
func span(row []civil.Date) string {
	if row[0] == sinks.Whole {
		return "all"
	}
	if len(row) == 1 {
		return row[0].String()
	}
	return row[0].String() + ".." + row[len(row)-1].String()
}

// ask makes one request and turns its answer into parts.
func (f *fetch) ask(ctx context.Context, row []civil.Date) (answer, error) {
	q := f.query(row)
	q.Splittable = len(row) > 1 || f.splitsByApp()
	conv, err := f.converter(row)
	if err != nil {
		return answer{}, err
	}
	defer conv.Abort()
	if err := f.trial.begin(ctx); err != nil {
		return answer{}, err
	}
	got, err := f.client.CSVReport(ctx, q, func(r io.Reader) error {
		f.trial.end()
		err := conv.Read(ctx, r)
		if err != nil {
			conv.Abort() // the next attempt begins anew
		}
		return err
	})
	if err = f.trial.verdict(err); err != nil {
		return answer{}, err
	}
	parts, err := conv.Finish() // after a 204, parts without rows
	return answer{parts, got.Started, got.Empty}, err
}

func (f *fetch) query(row []civil.Date) adjust.ReportQuery {
	q := f.o.Query
	q.Metrics = f.cols.metrics()
	q.From, q.Until = f.rules.Days(f.now, row)
	return q
}

func (f *fetch) converter(row []civil.Date) (*table.Converter, error) {
	return table.New(table.Options{
		Columns: f.cols.list, Route: f.cols.route, Partitions: row, Dir: f.o.SpoolDir, Codec: f.o.Codec,
		Budget: f.o.Budget,
		Metadata: map[string]string{
			"table": f.o.Table, "fingerprint": f.cols.shape.FingerprintID(),
			// Makes every file another one, also of the same rows: S3's ETag, which conditional writes go by, is a sum over
			// the bytes, and a late write meant for an older file of the same rows must not pass for one meant for this.
			"fetch": rand.Text(),
		},
	})
}

// publish puts and records each part. It goes on after a partition that fails, but not after the claim is lost.
func (f *fetch) publish(ctx context.Context, a answer) error {
	var errs []error
	for i, part := range a.parts {
		err := f.publishOne(ctx, a, part)
		if err != nil {
			f.out.Failed++
			errs = append(errs, err)
		}
		if ctx.Err() != nil || errors.Is(err, ledger.ErrLost) {
			if rest := len(a.parts) - i - 1; rest > 0 {
				f.out.Failed += rest
				errs = append(errs, ctx.Err()) // nil when the claim is lost, which has been said
			}
			for _, rest := range a.parts[i+1:] {
				_ = os.Remove(rest.Path) // spool files; the next run makes them anew
			}
			break
		}
	}
	return errors.Join(errs...)
}

func (f *fetch) publishOne(ctx context.Context, a answer, part table.Part) error {
	defer os.Remove(part.Path) //nolint:errcheck // a spool file
	f.odd(part)
	state, size, err := f.table.Publish(ctx, f.claim, partition.Publication{
		Part: sinks.Part{
			Table: f.o.Table, Partition: part.Partition, Rows: part.Rows, Size: part.Size, Hash: part.Hash,
			Run: f.o.Run, Schema: f.cols.schema(f.o),
			Open: func() (io.ReadCloser, error) { return os.Open(part.Path) },
		},
		Base: f.base[part.Partition],
		Run:  f.o.Run, Fetched: a.fetched, Cause: a.cause(), Shape: f.cols.shape.ID(), Sums: part.Sums,
		OnEmpty: f.o.OnEmpty, Again: f.o.Rules.IgnoreLedger,
		Warn: func(err error) { f.o.Log.Warn("the sink has a remark", "job", f.o.Job, "run", f.o.Run, "status", err) },
	})
	if err != nil {
		return err
	}
	f.out.Rows += part.Rows
	f.out.ParquetBytes += size
	f.out.Count(state)
	if state == ledger.Kept {
		f.o.Log.Warn("the answer has no rows, the old ones stay", "job", f.o.Job, "run", f.o.Run, "window", part.Partition.String())
	}
	return nil
}

// cause says what the answer was, for a partition without rows.
func (a answer) cause() string {
	if a.none {
		return "204"
	}
	for _, p := range a.parts {
		if p.Rows > 0 {
			return "no rows of that period"
		}
	}
	return "header only"
}

// odd counts cells that were taken, but not as they came.
func (f *fetch) odd(p table.Part) {
	for column, n := range p.Rounded {
		f.out.Rounded += n
		f.o.Log.Debug("rounded to six decimals", "job", f.o.Job, "window", p.Partition.String(), "column", column, "rows", n)
	}
	for column, n := range p.Nulls {
		if f.cols.asked(column) {
			f.out.Nulls += n
			f.o.Log.Warn("blank cells became NULL", "job", f.o.Job, "window", p.Partition.String(), "column", column, "rows", n)
		}
	}
}

// asked tells whether a column was asked for, and isn't one of NULLs by design.
func (c *columns) asked(name string) bool {
	for _, col := range c.list {
		if col.Name == name {
			return col.Source != ""
		}
	}
	return false
}
