package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"cloud.google.com/go/civil"
	"go.opentelemetry.io/otel/attribute"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/internal/telemetry/step"
	"github.com/reportferry/reportferry/internal/zone"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/partition"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// do fetches the partitions of a window that are still due and publishes each. Partitions that fail
// don't stop the others; the error joins what went wrong with them.
func (p *plan) do(ctx context.Context, window refresh.Window) (out ledger.Outcome, err error) {
	window, lease, err := p.table.Begin(ctx, window)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, lease.End(ctx)) }()
	if len(window.Due) == 0 {
		return out, nil
	}
	var m adjust.Meter
	var groups []group
	f := &fetch{plan: p, lease: lease, client: p.o.Client.Metered(&m)}
	window, failed := f.rewrite(ctx, window)
	if len(window.Due) == 0 {
		return f.out, failed
	}
	err = p.checkVisible(ctx, f.client)
	var cols *columns
	if err == nil {
		cols, err = p.resolve(ctx, f.client)
	}
	if err == nil {
		groups, err = p.groups(ctx, window, cols)
	}
	if err != nil {
		f.out.Failed = len(window.Due)
	}
	for _, g := range groups {
		if err = errors.Join(err, f.fetchGroup(ctx, g)); errors.Is(err, jobs.ErrStop) {
			break
		}
	}
	f.out.Measure(m.Totals())
	switch {
	case errors.Is(err, adjust.ErrAuth):
		err = fmt.Errorf("%w: %w", jobs.ErrDenied, err)
	case errors.Is(err, adjust.ErrClock), errors.Is(err, adjust.ErrUnreachable):
		err = fmt.Errorf("%w: %w", jobs.ErrStop, err)
	}
	return f.out, errors.Join(failed, err)
}

// fetchGroup fetches and publishes those partitions of a window that need the same columns. When
// the service refuses a column that the config no longer names, only the partitions that still have
// it fail.
func (f *fetch) fetchGroup(ctx context.Context, g group) (err error) {
	f.cols, f.window, f.rowsFirst, f.totalsFirst, f.mismatches, f.further = g.columns, g.window, &f.firstRows,
		&f.plan.firstTotals, nil, nil
	if f.cols.kept != nil {
		f.rowsFirst, f.totalsFirst = nil, nil
	}
	f.unchecked = f.plan.unchecked(len(f.cols.totalled) > 0)
	left, err := f.probe(ctx, g.window)
	if err != nil {
		f.out.Failed += len(g.window.Due)
		return fmt.Errorf("ask for totals of %s: %w%s", f.o.Table, err, f.advice(err))
	}
	for _, run := range left.Runs() {
		if err = errors.Join(err, f.fetchRow(ctx, run)); errors.Is(err, jobs.ErrStop) {
			break
		}
	}
	return errors.Join(err, f.recheck(ctx))
}

// A fetch does one window.
type fetch struct {
	*plan
	lease  *ledger.Lease
	window refresh.Window // the partitions of the group under way, with what the ledger held before the fetch
	client *adjust.Client
	cols   *columns
	out    ledger.Outcome

	rowsFirst, totalsFirst *firstQuery // let the first query with these columns go alone; nil: none has to

	unchecked  string     // why nothing is compared with totals; empty: rows are compared
	mismatches []mismatch // what differs from the totals
	further    *allowance // how many more requests may look into mismatches
}

// fetchRow fetches consecutive partitions (a row of them) and publishes those that agree with the
// totals. The others wait for recheck.
func (f *fetch) fetchRow(ctx context.Context, row []civil.Date) error {
	c := f.control(ctx, row)
	defer c.end()
	return f.fetchPartitions(ctx, row, c, func(row []civil.Date, a partition.Answer, err error) error {
		if err != nil {
			f.out.Failed += len(row)
			return fmt.Errorf("fetch %s/%s: %w%s", f.o.Table, span(row), err, f.advice(err))
		}
		return f.reconcile(ctx, a, c)
	})
}

// fetchPartitions fetches consecutive partitions, and calls use with each answer or error. It
// divides or changes the request where that can help:
//
//   - When the service is too slow for several partitions, it asks for each half.
//   - When it is too slow for a single one, it asks app by app.
//   - When the service refuses some apps by name, it asks without them.
//   - When a cell isn't of its column's type, it asks for each partition by itself, so that only
//     the one with that cell fails.
func (f *fetch) fetchPartitions(ctx context.Context, row []civil.Date, c *control,
	use func([]civil.Date, partition.Answer, error) error) error {
	if cut := f.cutAtOffsets(row); len(cut) > 1 {
		var errs []error
		for _, run := range cut {
			errs = append(errs, f.fetchPartitions(ctx, run, c, use))
		}
		return errors.Join(errs...)
	}
	a, err := f.ask(ctx, row, c)
	if named, _ := refusedApps(err); !errors.Is(err, jobs.ErrStop) && f.leaveOut(named, err) {
		return f.fetchPartitions(ctx, row, c, use)
	}
	if errors.Is(err, adjust.ErrTooSlow) && len(row) > 1 {
		half := len(row) / 2
		return errors.Join(f.fetchPartitions(ctx, row[:half], c, use), f.fetchPartitions(ctx, row[half:], c, use))
	}
	if errors.Is(err, adjust.ErrTooSlow) && f.splitsByApp() {
		a, err = f.byApp(ctx, row[0])
	}
	if errors.As(err, new(*table.CellError)) && len(row) > 1 {
		var errs []error
		for _, partition := range row {
			errs = append(errs, f.fetchPartitions(ctx, []civil.Date{partition}, c, use))
		}
		return errors.Join(errs...)
	}
	// The clocks change in this partition, so it was fetched by hours and by days, and each of its
	// cells may be a sum of that many rounded ones. Cells counts them for the comparison with
	// totals.
	if f.offset(row[0]) == "" {
		from, until := f.rules.Days(f.now, row)
		for _, p := range a.Parts {
			for name := range p.Cells {
				p.Cells[name] *= int64(until.DaysSince(from)) + 24
			}
		}
	}
	return use(row, a, err)
}

// cutAtOffsets divides consecutive partitions where the UTC offset of a named time zone changes. A
// partition within which it changes stands alone.
func (p *plan) cutAtOffsets(row []civil.Date) (list [][]civil.Date) {
	before := ""
	for _, partition := range row {
		offset := p.offset(partition)
		if len(list) == 0 || offset == "" || offset != before {
			list = append(list, nil)
		}
		last := len(list) - 1
		list[last], before = append(list[last], partition), offset
	}
	return list
}

// offset returns the UTC offset of all days of a partition; empty: it changes within the partition.
// Without a named time zone it is the same for all partitions.
func (p *plan) offset(partition civil.Date) string {
	if p.o.Query.Zone == nil {
		return "of the config"
	}
	from, until := p.rules.Days(p.now, []civil.Date{partition})
	if pieces := zone.Pieces(p.o.Query.Zone, from, until); len(pieces) == 1 && pieces[0].First == "" {
		return pieces[0].Offset
	}
	return ""
}

// advice says what a person can do about a metric that the service refuses, or about a single
// partition that takes it too long.
func (f *fetch) advice(err error) string {
	var failed *adjust.Error
	if !errors.As(err, &failed) {
		return ""
	}
	if f.o.Frozen && (failed.Metric != "" || errors.Is(err, jobs.ErrContract)) {
		return evolveAdvice
	}
	if f.cols != nil && slices.ContainsFunc(f.cols.all, func(c column) bool {
		return c.Source == failed.Metric &&
			slices.Contains(f.cols.kept, c.Name)
	}) {
		return "; the partitions have values of it, which the config asks for no more, and so they stay; drop: " +
			"gives them up"
	}
	if text := catalog.Suggestion(failed.Metric); text != "" {
		return "; " + text
	}
	if failed.Metric != "" {
		return "; correct its name or leave it out (an event's metrics get other names when the event is renamed)"
	}
	if failed.Status != http.StatusGatewayTimeout || f.splitsByApp() {
		return ""
	}
	return "; the service is too slow for all apps at once: add app_token to the dimensions, and set app_scope: " +
		"listed, or " +
		"name the apps as in filters: {app_token__in: [abc123]}, and it is asked for one app after the other"
}

// span writes consecutive partitions as a person reads them, such as 2026-01-01..2026-01-07.
func span(row []civil.Date) string {
	if row[0] == sinks.Whole {
		return "all"
	}
	if len(row) == 1 {
		return row[0].String()
	}
	return row[0].String() + ".." + row[len(row)-1].String()
}

// ask makes one request for consecutive partitions and converts its answer into parts.
func (f *fetch) ask(ctx context.Context, row []civil.Date, c *control) (a partition.Answer, err error) {
	if err = f.further.take(); err != nil {
		return a, err
	}
	// What is asked for, and what converts the answer.
	q := f.query(row)
	q.Splittable = len(row) > 1 || f.splitsByApp()
	a.Refused = without(f.wanted(), q.Filters[appTokenIn])
	conv, err := f.table.Converter(f.cols.Definition, row)
	if err != nil {
		return a, err
	}
	defer conv.Abort()
	// The first query of the run goes alone, that for totals before that for rows.
	if err = c.waitAccepted(ctx); err == nil {
		err = f.rowsFirst.begin(ctx)
	}
	if err != nil {
		return a, err
	}
	// The request. Its answer is converted, and kept, while it comes.
	kept := f.keep(ctx, q)
	defer kept.Abort()
	ctx, fetching := step.Begin(ctx, step.Fetch)
	defer func() { fetching.End(err) }()
	fetching.Set(attribute.String("reportferry.partitions", span(row)))
	before := f.out.Convert
	var began time.Time // of the first attempt
	asking := f.client.Asking(func(context.Context) error {
		if began.IsZero() {
			began = time.Now()
			conv.Loaded(began)
		}
		return nil
	})
	got, err := asking.CSVReport(ctx, q, func(r io.Reader) error {
		if !f.o.Frozen { // if frozen, the others wait until the header has been compared
			f.rowsFirst.end()
		}
		bytes := &timedBody{Reader: r}
		defer f.addConvertTime(time.Now(), bytes)
		ctx, decoded := step.Begin(ctx, step.Decode)
		err := conv.Read(ctx, kept.Tee(bytes))
		decoded.End(err)
		if err != nil {
			conv.Abort() // the next attempt begins anew
		}
		return err
	})
	if f.o.Frozen && errors.As(err, new(*table.HeaderError)) {
		err = fmt.Errorf("%w: %w", jobs.ErrContract, err)
	}
	if err = f.rowsFirst.answered(err); err != nil {
		return a, err
	}
	got.Started = began // so that the rows say what the ledger and the kept answer say
	key, err := f.commitKept(ctx, kept, got)
	if err != nil {
		return a, err
	}
	if len(a.Refused) == 0 { // otherwise the kept answer lacks the refused apps, and can't be replayed
		a.Raw = allOf([]string{key})
	}
	// The parts.
	finishing := time.Now()
	defer f.addConvertTime(finishing, &timedBody{})
	_, encoded := step.Begin(ctx, step.Encode)
	a.Parts, err = conv.Finish() // after a 204, parts without rows
	encoded.End(err)
	step.Took(ctx, step.Convert, f.out.Convert+time.Since(finishing)-before)
	a.Fetched, a.None = got.Started, got.Empty
	return a, err
}

// A timedBody is the body of an answer that is being received. It measures how long its reader has
// waited for data.
type timedBody struct {
	io.Reader
	waited time.Duration
}

func (a *timedBody) Read(p []byte) (int, error) {
	began := time.Now()
	n, err := a.Reader.Read(p)
	a.waited += time.Since(began)
	return n, err
}

// addConvertTime adds the time since began to the time that conversion took, without the time that
// was spent waiting for the answer.
func (f *fetch) addConvertTime(began time.Time, a *timedBody) {
	f.out.Convert += time.Since(began) - a.waited
}

// query returns the report query for consecutive partitions: the config's, with the columns, days
// and apps of this fetch.
func (f *fetch) query(row []civil.Date) adjust.ReportQuery {
	q := f.o.Query
	q.Metrics = f.cols.metrics()
	q.From, q.Until = f.rules.Days(f.now, row)
	if apps := f.apps(); len(apps) > 0 {
		q.Filters = withFilter(q.Filters, appTokenIn, apps)
	}
	if f.incomparable() == "" { // otherwise a row that isn't 0 may be left out
		q.ZeroWhenAbsent = f.cols.additive()
		q.Summable = !slices.ContainsFunc(q.Metrics, func(slug string) bool {
			return !slices.Contains(q.ZeroWhenAbsent,
				slug)
		})
	}
	return q
}

// clockWarning returns a warning about a partition in which the clocks change and whose metrics
// can't be added up over hours: all of it is fetched with one offset. It returns an empty text when
// there is nothing to warn of.
func (f *fetch) clockWarning(partition civil.Date) string {
	if f.offset(partition) != "" {
		return ""
	}
	offset := f.query([]civil.Date{partition}).Offset()
	if offset == "" {
		return ""
	}
	return fmt.Sprintf("the clocks of %s change in it, and not all of its metrics add up over hours, so that all of "+
		"it is asked for with the utc_offset %s",
		f.o.Query.Zone, offset)
}
