package report

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// Visible lists the apps that a client's token shows: by filters_data, or where the service lacks that, those with a row in a report of
// the last 90 days, as far back as finals are compared, or else those that have events. The zero scope: the service tells none of these.
// Source of the lists: the service's documents; filters_data isn't in the interface document.
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

func listedApps(ctx context.Context, client *adjust.Client) (apps []string, err error) {
	lists, err := client.FiltersData(ctx, []string{"apps"})
	for _, app := range lists["apps"] {
		apps = append(apps, app.ID)
	}
	return apps, err
}

// reportedApps asks for metrics that every account has. Where all of them are zero the service has no row.
func reportedApps(ctx context.Context, client *adjust.Client) (apps []string, err error) {
	q := adjust.ReportQuery{
		Dimensions: []string{"app_token"}, Metrics: []string{"installs", "clicks", "impressions", "sessions"}, DatePeriod: "-90d:-1d", UTCOffset: "+00:00",
		Parameters: map[string][]string{
			"cohort_maturity": {"immature"}, "attribution_types": {"click", "impression"}, "attribution_source": {"dynamic"}, "reattributed": {"all"},
			"iap_revenue_mode": {"GROSS_100"}, "ad_spend_mode": {"adjust"}, "sandbox": {"false"},
		},
	}
	_, err = client.CSVReport(ctx, q, func(r io.Reader) error {
		rows, err := csv.NewReader(r).ReadAll()
		if apps = nil; err != nil || len(rows) == 0 {
			return err
		}
		at := slices.Index(rows[0], "app_token")
		for _, row := range rows[1:] {
			if at >= 0 && row[at] != "" {
				apps = append(apps, row[at])
			}
		}
		return nil
	})
	return apps, err
}

func appsWithEvents(ctx context.Context, client *adjust.Client) (apps []string, err error) {
	events, err := client.Events(ctx, adjust.EventsQuery{})
	for _, e := range events {
		apps = append(apps, e.AppTokens...)
	}
	return apps, err
}

// visibleTime bounds how long a run waits for the list of apps, without which it goes on.
const visibleTime = 30 * time.Second

// A scope is what a run knows of the apps that its token shows. It is asked for once, before anything is fetched.
type scope struct {
	mu    sync.Mutex
	known bool
	now   ledger.Scope
	err   error
	was   map[string]ledger.Scope // those that records name, by ID
}

// inSight asks which apps the token shows. The error says that it is a token of another account than the one that the table is of.
func (p *plan) inSight(ctx context.Context) error {
	s := &p.scope
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known || p.o.Visible == nil {
		return s.err
	}
	if s.now = p.o.Visible(ctx); ctx.Err() != nil {
		return ctx.Err()
	}
	if p.first {
		for _, remark := range p.FilterRemarks(ctx) {
			p.o.Log.Warn(remark, "job", p.o.Job, "run", p.o.Run)
		}
	}
	if apps := p.o.Query.Filters[appTokenIn]; len(apps) > 0 {
		s.now.Apps = slices.DeleteFunc(slices.Clone(s.now.Apps), func(app string) bool { return !slices.Contains(apps, app) })
	}
	s.was = map[string]ledger.Scope{}
	if s.now.Source == "" {
		s.known = true
		return nil
	}
	was, err := p.recordedScopes(ctx)
	if err == nil && was.ID() != s.now.ID() {
		err = p.table.SaveScope(ctx, s.now)
	}
	if err != nil {
		return err
	}
	s.known = true
	switch gone := was.Lacks(s.now); {
	case len(gone) == 0 || p.o.Rebaseline: // all partitions are to be replaced
	case len(gone) == len(was.Apps):
		s.err = fmt.Errorf("%w: %w: the token shows none of the %d apps that table %s was filled with, such as %s, and so it is of another account; "+
			"nothing is fetched; give that account a table of its own", jobs.ErrStop, jobs.ErrDenied, len(gone), p.o.Table, gone[0])
	default:
		p.o.Log.Warn("apps are out of the token's sight; what they had stays as long as it is missed", "job", p.o.Job, "run", p.o.Run, "apps", strings.Join(gone, " "))
	}
	return s.err
}

// recordedScopes reads the scopes that records name, and gives that of the newest record. A record of an earlier version names none; all
// that others name stands in for it.
func (p *plan) recordedScopes(ctx context.Context) (newest ledger.Scope, err error) {
	all, last := ledger.Scope{Source: p.scope.now.Source}, time.Time{}
	for _, e := range p.table.Records() {
		s, known := p.scope.was[e.Scope]
		if !known {
			if s, err = p.table.ScopeOf(ctx, e); err != nil {
				return newest, err
			}
			p.scope.was[e.Scope] = s
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
	p.scope.was[""] = all
	return newest, nil
}

// hidden gives the apps that were in sight when a partition was fetched last and are no more.
func (p *plan) hidden(e ledger.Record) []string {
	p.scope.mu.Lock()
	defer p.scope.mu.Unlock()
	if e.Scope == p.scope.now.ID() {
		return nil
	}
	return p.scope.was[e.Scope].Lacks(p.scope.now)
}
