package emulator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/facts"
)

// A Restatement changes what the service says of days that are past, as a late correction does: one
// metric of them, and all that is derived from it, or the names in their rows.
type Restatement struct {
	Day   string `json:"day"`             // YYYY-MM-DD by UTC: the first day that changes
	Until string `json:"until,omitempty"` // the last one; default: Day
	// Only facts with these values of dimensions such as app_token, network, campaign change.
	Where map[string]string `json:"where,omitempty"`

	Metric string            `json:"metric,omitempty"` // see facts.RestatedColumns
	Factor float64           `json:"factor,omitempty"` // what Metric is multiplied by; 0 without Delta leaves nothing
	Delta  float64           `json:"delta,omitempty"`  // what is added to each day, on one row; money in USD
	Rename map[string]string `json:"rename,omitempty"` // new values of dimensions such as campaign and network

	// The time of the change is one of these; it is at once when none is set.
	At     time.Time `json:"at,omitzero"`      // by the emulator's clock
	Before *Match    `json:"before,omitempty"` // before a report is made: it shows the change
	After  *Match    `json:"after,omitempty"`  // after a report was sent: only later ones show the change

	// The result, which the emulator sets.
	Done time.Time `json:"done,omitzero"`  // by the emulator's clock; zero: not yet
	Rows int       `json:"rows,omitempty"` // the facts that changed
}

// A Match is the Nth report since the restatement was asked for, counted from 1 (0 means 1, too).
// It counts the reports whose path ends with Path and whose decoded query contains Query, but not
// those in place of which a fault answered.
type Match struct {
	Path  string `json:"path,omitempty"`
	Query string `json:"query,omitempty"`
	Nth   int    `json:"nth,omitempty"`

	reached int // the reports that matched so far
}

// restater holds the restatements that are still to come.
type restater struct {
	mu      sync.Mutex
	pending []Restatement
}

// Restate makes the service restate days, at once or when the time has come. Whoever restates at
// once and compares by time afterwards needs a clock that has moved since the last report.
func (s *Server) Restate(ctx context.Context, list ...Restatement) error {
	s.restate.mu.Lock()
	defer s.restate.mu.Unlock()
	for i := range list {
		if _, err := list[i].facts(); err != nil {
			return fmt.Errorf("restatement %d: %w", i+1, err)
		}
	}
	for _, r := range list {
		for _, m := range []**Match{&r.Before, &r.After} {
			if *m != nil {
				own := **m
				own.reached, *m = 0, &own
			}
		}
		r.Done, r.Rows = time.Time{}, 0
		s.restate.pending = append(s.restate.pending, r)
	}
	return s.restateDueLocked(ctx)
}

// Restatements lists what was restated, in its order, and then what is still to come.
func (s *Server) Restatements(ctx context.Context) ([]Restatement, error) {
	s.restate.mu.Lock()
	defer s.restate.mu.Unlock()
	if err := s.restateDueLocked(ctx); err != nil {
		return nil, err
	}
	made, err := s.world.Restated(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Restatement, 0, len(made)+len(s.restate.pending))
	for _, m := range made {
		var r Restatement
		if err := json.Unmarshal([]byte(m.Note), &r); err != nil {
			return nil, fmt.Errorf("read a restatement: %w", err)
		}
		r.Done, r.Rows = m.At, m.Rows
		list = append(list, r)
	}
	return append(list, s.restate.pending...), nil
}

// Totals returns the rows of a report of sums, each under its dimensions joined by "|", as they
// were at a moment of the emulator's clock. They come from its facts, and not from an answer, which
// a fault could change. query is that of a report, with an absolute date_period; its dimension is
// day when it names none.
func (s *Server) Totals(ctx context.Context, query url.Values, at time.Time) (map[string]map[string]string, error) {
	if err := s.restateDue(ctx); err != nil {
		return nil, err
	}
	return s.reports.Totals(ctx, query, at)
}

// Book lists what changed in such a report after since, up to and including until, whether by a
// restatement or by the clock: networks' spend arrives for 14 days, and cohorts mature. Spend that
// partners post isn't in it.
func (s *Server) Book(ctx context.Context, query url.Values, since, until time.Time) ([]Movement, error) {
	if err := s.restateDue(ctx); err != nil {
		return nil, err
	}
	return s.reports.Book(ctx, query, since, until)
}

// restateDue makes the restatements whose time has come.
func (s *Server) restateDue(ctx context.Context) error {
	s.restate.mu.Lock()
	defer s.restate.mu.Unlock()
	return s.restateDueLocked(ctx)
}

// restateDueLocked does what restateDue does; the caller holds the lock.
func (s *Server) restateDueLocked(ctx context.Context) error {
	now := s.now()
	return s.restateLocked(ctx, func(r *Restatement) (time.Time, bool) {
		return cmp.Or(r.At, now), r.Before == nil && r.After == nil && !r.At.After(now)
	})
}

// restateLocked makes those of the pending restatements that are due, the earliest first. due
// returns the time at which a restatement counts as made, and whether it is due.
func (s *Server) restateLocked(ctx context.Context, due func(*Restatement) (time.Time, bool)) error {
	type dueRestatement struct {
		at time.Time
		r  Restatement
	}
	var list []dueRestatement
	var left []Restatement
	for i := range s.restate.pending {
		r := s.restate.pending[i]
		if at, ok := due(&r); ok {
			list = append(list, dueRestatement{at, r})
		} else {
			left = append(left, r)
		}
	}
	slices.SortStableFunc(list, func(a, b dueRestatement) int { return a.at.Compare(b.at) })
	s.restate.pending = left
	for _, m := range list {
		f, err := m.r.facts()
		if err != nil {
			return err
		}
		if err := s.world.Restate(ctx, m.at, f); err != nil {
			return err
		}
	}
	return nil
}

// restateAround makes the restatements that come before a report, and returns a function that makes
// those that come after it.
func (s *Server) restateAround(r *http.Request) (after func(), err error) {
	s.restate.mu.Lock()
	defer s.restate.mu.Unlock()
	ctx := context.WithoutCancel(r.Context()) // other requests see the change, too
	if err := s.restateDueLocked(ctx); err != nil {
		return nil, err
	}
	nth := map[*Match]bool{} // true for a Match whose Nth report this one is
	for _, p := range s.restate.pending {
		for _, m := range []*Match{p.Before, p.After} {
			if m != nil && matches(m.Path, m.Query, r.URL) {
				m.reached++
				nth[m] = m.reached == max(m.Nth, 1)
			}
		}
	}
	err = s.restateLocked(ctx, func(p *Restatement) (time.Time, bool) { return s.now(), nth[p.Before] })
	return func() {
		s.restate.mu.Lock()
		defer s.restate.mu.Unlock()
		if err := s.restateLocked(ctx, func(p *Restatement) (time.Time, bool) { return s.now(), nth[p.After] }); err !=
			nil {
			s.opts.Logger.Error("restatement failed", "error", err)
		}
	}, err
}

// facts checks the restatement, and returns it in the form that package facts takes.
func (r *Restatement) facts() (f facts.Restatement, err error) {
	note, err := json.Marshal(r)
	if err != nil {
		return f, err
	}
	from, err := time.Parse(time.DateOnly, r.Day)
	if err != nil {
		return f, fmt.Errorf("day %q is not of the form YYYY-MM-DD", r.Day)
	}
	to, err := time.Parse(time.DateOnly, cmp.Or(r.Until, r.Day))
	if err != nil {
		return f, fmt.Errorf("until %q is not of the form YYYY-MM-DD", r.Until)
	}
	moments := 0
	for _, set := range []bool{!r.At.IsZero(), r.Before != nil, r.After != nil} {
		if set {
			moments++
		}
	}
	if moments > 1 {
		return f, errors.New("it takes one of at, before and after")
	}
	unit := 1.0
	if strings.HasSuffix(r.Metric, "cost") || strings.HasSuffix(r.Metric, "revenue") {
		unit = facts.Million
	}
	f = facts.Restatement{From: facts.DayOf(from), To: facts.DayOf(to), Where: r.Where, Column: r.Metric,
		Rename: r.Rename, Note: string(note),
		Factor: int(math.Round(r.Factor * facts.Million)), Delta: int(math.Round(r.Delta * unit))}
	return f, f.Validate()
}
