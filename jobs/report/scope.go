package report

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// Visible lists the apps that a client's token shows, by the first source that lists any:
//
//   - filters_data
//   - a report of the last 90 days, as far back as final partitions are compared: apps with a row
//   - the events: apps that have some
//
// It returns the zero scope if none does. Source of the lists: the service's documents;
// filters_data isn't in the interface document.
func Visible(ctx context.Context, client *adjust.Client) ledger.Scope {
	ctx, end := context.WithTimeout(ctx, visibleTime)
	defer end()
	for _, list := range []struct {
		source string
		apps   func(context.Context, *adjust.Client) ([]string, error)
	}{{"filters_data", listedApps}, {"csv_report", reportedApps}, {"events", appsWithEvents}} {
		if apps, err := list.apps(ctx, client); err == nil && len(apps) > 0 {
			slices.Sort(apps)
			return ledger.Scope{Source: list.source, Apps: slices.Compact(apps)}
		}
	}
	return ledger.Scope{}
}

// listedApps lists the apps of filters_data.
func listedApps(ctx context.Context, client *adjust.Client) (apps []string, err error) {
	lists, err := client.FiltersData(ctx, []string{"apps"})
	for _, app := range lists["apps"] {
		apps = append(apps, app.ID)
	}
	return apps, err
}

// reportedApps lists the apps that have a row in a report of metrics that every account has. The
// service returns no row for an app in which all of them are zero.
func reportedApps(ctx context.Context, client *adjust.Client) (apps []string, err error) {
	today := civil.DateOf(time.Now().UTC())
	rows, err := countsBy(ctx, client, "app_token", today.AddDays(-90), today, nil)
	for _, row := range rows {
		if row["app_token"] != "" {
			apps = append(apps, row["app_token"])
		}
	}
	return apps, err
}

// countMetrics are metrics that every account has.
var countMetrics = []string{"installs", "clicks", "impressions", "sessions"}

// countsBy asks for counts by a dimension, of some apps or, if apps is empty, of all. It returns
// each row as a map from column to cell.
func countsBy(ctx context.Context, client *adjust.Client, by string, from, until civil.Date,
	apps []string) (list []map[string]string, err error) {
	q := adjust.ReportQuery{
		Dimensions: []string{by}, Metrics: countMetrics, From: from, Until: until, UTCOffset: "+00:00", Currency: "USD",
		Summable: true,
		Filters:  map[string][]string{appTokenIn: apps}, Parameters: map[string][]string{
			"cohort_maturity": {"immature"}, "attribution_types": {"click", "impression"},
			"attribution_source": {"dynamic"}, "reattributed": {"all"},
			"iap_revenue_mode": {"GROSS_100"}, "ad_spend_mode": {"adjust"}, "sandbox": {"false"},
		},
	}
	_, err = client.CSVReport(ctx, q, func(r io.Reader) error {
		rows, err := csv.NewReader(r).ReadAll()
		if list = nil; err != nil || len(rows) == 0 {
			return err
		}
		for _, cells := range rows[1:] {
			row := map[string]string{}
			for i, name := range rows[0] {
				row[strings.ToLower(strings.TrimPrefix(name, "\ufeff"))] = cells[i]
			}
			list = append(list, row)
		}
		return nil
	})
	return list, err
}

// omissions say in words, by metric, what the service leaves out of one day: without has what a
// report without a list of apps lacks, with what a report with the apps that the service lists
// lacks.
type omissions struct{ without, with []string }

// omissionsOf asks for the same day twice, with and without a list of apps. The day has been over
// for a while, so that little is counted between the two answers. When a request fails, nothing
// counts as left out. Source: one author of a client has seen newer trackers missing without a
// list.
func omissionsOf(ctx context.Context, client *adjust.Client, s ledger.Scope) (h omissions) {
	if len(s.Apps) == 0 {
		return h
	}
	ctx, end := context.WithTimeout(ctx, visibleTime)
	defer end()
	day := civil.DateOf(time.Now().UTC()).AddDays(-2)
	without, err := countsBy(ctx, client, "day", day, day.AddDays(1), nil)
	if err != nil {
		return h
	}
	with, err := countsBy(ctx, client, "day", day, day.AddDays(1), s.Apps)
	if err != nil {
		return h
	}
	one := func(rows []map[string]string, name string) *big.Rat {
		if len(rows) > 0 {
			if n, ok := rational(rows[0][name]); ok {
				return n
			}
		}
		return new(big.Rat)
	}
	for _, name := range countMetrics {
		h.compare(name, day, one(without, name), one(with, name), s)
	}
	return h
}

// compare notes whether a metric of a day is less without a list of apps than with it, or the other
// way round.
func (h *omissions) compare(name string, day civil.Date, without, with *big.Rat, s ledger.Scope) {
	said := fmt.Sprintf("%s of %s is %s without a list of apps, and %s with the %d apps that %s lists", name, day,
		exact(without), exact(with), len(s.Apps), s.Source)
	switch without.Cmp(with) {
	case -1:
		h.without = append(h.without, said)
	case 1:
		h.with = append(h.with, said)
	}
}

// advice says which setting of app_scope would leave nothing out. It returns an empty text when the
// current one leaves nothing out, as far as is known.
func (h *omissions) advice(listed bool) string {
	switch {
	case len(h.without) > 0 && len(h.with) > 0:
		return h.without[0] + "; " + h.with[0] +
			"; so that each leaves something out: name the apps in filters: {app_token__in: [...]}"
	case len(h.without) > 0 && !listed:
		return h.without[0] + "; set app_scope: listed, and let run --force fetch what is there"
	case len(h.with) > 0 && listed:
		return h.with[0] + "; set app_scope: account, and let run --force fetch what is there"
	}
	return ""
}

// Scoping returns advice on app_scope when the service leaves something out of rows that are asked
// for as the job does. It returns an empty text when nothing is known to be left out.
func (k *Kind) Scoping(ctx context.Context) string {
	if k.o.Visible == nil || len(k.o.Query.Filters[appTokenIn]) > 0 {
		return ""
	}
	h := omissionsOf(ctx, k.o.Client, k.o.Visible(ctx, k.o.Client))
	return h.advice(k.o.Listed)
}

// scopingAdvice gives the same advice as Scoping, from the table's own counts of a day. It compares
// them with totals that were asked for the other way than the rows, with or without the list of
// apps, and sends a request for these totals if the run doesn't have them.
func (p *plan) scopingAdvice(ctx context.Context) string {
	s, records := p.scope.now, p.table.Sorted()
	cols := p.columns.Load()
	if cols == nil || len(s.Apps) == 0 || len(p.o.Query.Filters[appTokenIn]) > 0 || p.rules.Period == refresh.Whole ||
		len(records) == 0 {
		return ""
	}
	e := records[max(0, len(records)-2)] // the newest one may still be counted
	other, known := p.totalsOtherWay[e.Partition]
	if !known {
		var apps []string
		if !p.o.Listed {
			apps = s.Apps
		}
		ctx, end := context.WithTimeout(ctx, visibleTime)
		defer end()
		f := &fetch{plan: p, client: p.o.Client.Metered(&p.endMeter), cols: cols}
		parts, err := f.totalsOf(ctx, []civil.Date{e.Partition}, apps)
		if err != nil || len(parts) == 0 {
			return ""
		}
		other = parts[0]
	}
	var h omissions
	for _, c := range cols.totalled {
		rows, _ := rational(e.Sums[c.Name])
		total, _ := rational(other.Sums[c.Name])
		if c.Type != catalog.Int64 || rows == nil || total == nil {
			continue
		}
		if p.o.Listed {
			rows, total = total, rows
		}
		h.compare(c.Source, e.Partition, rows, total, s)
	}
	return h.advice(p.o.Listed)
}

// appsWithEvents lists the apps that have an event.
func appsWithEvents(ctx context.Context, client *adjust.Client) (apps []string, err error) {
	events, err := client.Events(ctx, adjust.EventsQuery{})
	for _, e := range events {
		apps = append(apps, e.AppTokens...)
	}
	return apps, err
}

// visibleTime bounds how long a run waits for the list of apps, without which it goes on.
const visibleTime = 30 * time.Second

// A scope holds what a run knows about the apps that its token shows. The run asks for them once,
// before it fetches anything.
type scope struct {
	mu       sync.Mutex
	known    bool                    // the apps have been asked for, and compared with the recorded scopes
	now      ledger.Scope            // the apps that the token shows in this run
	err      error                   // why nothing may be fetched; nil: all is well, or known is false
	recorded map[string]ledger.Scope // the scopes that records name, by ID
}

// checkVisible asks, once a run, which apps the token shows. It returns an error when the token
// belongs to another account than the table, or when rows are to be asked for by a list that there
// isn't.
func (p *plan) checkVisible(ctx context.Context, client *adjust.Client) error {
	s := &p.scope
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known || p.o.Visible == nil {
		return s.err
	}
	if s.now = p.o.Visible(ctx, client); ctx.Err() != nil {
		return ctx.Err()
	}
	if p.newTable {
		for _, remark := range p.filterRemarks(ctx, client) {
			p.o.Log.Warn(remark, "job", p.o.Job, "run", p.o.Run)
		}
	}
	// Only the apps that the config names matter.
	if apps := p.o.Query.Filters[appTokenIn]; len(apps) > 0 {
		s.now.Apps = slices.DeleteFunc(slices.Clone(s.now.Apps),
			func(app string) bool { return !slices.Contains(apps, app) })
	}
	if s.err = p.checkListed(); s.err != nil {
		s.known = true
		return s.err
	}
	s.recorded = map[string]ledger.Scope{}
	if s.now.Source == "" {
		s.known = true
		return nil
	}
	// The apps are compared with those of the newest record.
	was, err := p.recordedScopes(ctx)
	if err == nil && was.ID() != s.now.ID() {
		err = p.table.SaveScope(ctx, s.now)
	}
	if err != nil {
		return err
	}
	s.known = true
	if added := s.now.Lacks(was); p.o.Listed && len(added) > 0 && was.Source != "" {
		p.o.Log.Warn("apps are new in the service's list, and are asked for from now on", "job", p.o.Job, "run",
			p.o.Run, "apps", strings.Join(added, " "))
	}
	switch gone := was.Lacks(s.now); {
	case len(gone) == 0 || p.o.Rebaseline: // all partitions are to be replaced
	case len(gone) == len(was.Apps):
		s.err = fmt.Errorf("%w: %w: the token shows none of the %d apps that table %s was filled with, such as %s, "+
			"and so it is of another account; "+
			"nothing is fetched; give that account a table of its own", jobs.ErrStop, jobs.ErrDenied, len(gone),
			p.o.Table, gone[0])
	default:
		p.o.Log.Warn("apps are out of the token's sight; what they had stays as long as it is missed", "job", p.o.Job,
			"run", p.o.Run, "apps", strings.Join(gone, " "))
	}
	return s.err
}

// checkListed warns of apps that the list for the requests is known to lack. It returns an error
// when there is no list.
func (p *plan) checkListed() error {
	if !p.o.Listed || p.scope.now.Source == "filters_data" {
		return nil
	}
	if p.scope.now.Source == "" {
		return fmt.Errorf("%w: app_scope: listed: the service lists no apps, neither in filters_data nor by reports "+
			"and events; "+
			"name them in filters: {app_token__in: [...]}, or set app_scope: account", jobs.ErrStop)
	}
	lacks := map[string]string{"csv_report": "without rows in the last 90 days",
		"events": "without events"}[p.scope.now.Source]
	p.o.Log.Warn(
		"the service has no list of apps, so that it is that of "+p.scope.now.Source+"; apps "+lacks+" aren't in it",
		"job", p.o.Job, "run", p.o.Run)
	return nil
}

// recordedScopes reads the scopes that records name, and returns that of the newest record. A
// record of an earlier version names none; for it, recordedScopes assumes all apps that the scopes
// of the other records have.
func (p *plan) recordedScopes(ctx context.Context) (newest ledger.Scope, err error) {
	all, last := ledger.Scope{Source: p.scope.now.Source}, time.Time{}
	for _, e := range p.table.Records() {
		s, known := p.scope.recorded[e.Scope]
		if !known {
			if s, err = p.table.ScopeOf(ctx, e); err != nil {
				return newest, err
			}
			p.scope.recorded[e.Scope] = s
			if s.Source == all.Source {
				all.Apps = append(all.Apps, s.Apps...)
			}
		}
		if e.Scope != "" && e.Fetched.After(last) {
			newest, last = s, e.Fetched
		}
	}
	slices.Sort(all.Apps)
	all.Apps = slices.Compact(all.Apps)
	p.scope.recorded[""] = all
	return newest, nil
}

// hidden returns the apps that the token showed when a partition was last fetched, but no longer
// shows.
func (p *plan) hidden(e ledger.Record) []string {
	p.scope.mu.Lock()
	defer p.scope.mu.Unlock()
	if e.Scope == p.scope.now.ID() {
		return nil
	}
	return p.scope.recorded[e.Scope].Lacks(p.scope.now)
}
