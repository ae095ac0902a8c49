package emulator

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/report"
	"github.com/reportferry/reportferry/internal/faults"
)

// script is the fault script in force.
type script struct{ faults.Script[Fault] }

// next counts the request and returns the fault that applies to it, or nil.
func (s *script) next(r *http.Request, now time.Time) *Fault {
	var query url.Values // decoded only for faults that need it
	f, at := s.Next(func(f Fault) bool {
		if (f.MinDays > 0 || f.Silent()) && query == nil {
			query = r.URL.Query()
		}
		return mayApply(f, r.URL, query, now)
	})
	if f != nil && f.Random && f.Delay > 0 {
		f.Delay = time.Duration(facts.NewRandom(int64(at.Fault), at.Call).Below(int(f.Delay) + 1))
	}
	return f
}

// mayApply tells whether a fault may apply to a request.
func mayApply(f Fault, u *url.URL, query url.Values, now time.Time) bool {
	if !matches(f.Path, f.Query, u) {
		return false
	}
	if f.Silent() && f.Hidden() == "" && !report.Has(f.Of, query.Get("dimensions")) {
		return false
	}
	if f.MinDays > 0 {
		p, err := report.ParsePeriod(query.Get("date_period"), facts.DayOf(now))
		if err != nil || p.Days() < f.MinDays {
			return false
		}
	}
	return true
}

// matches tells whether a request's path ends with path, and its decoded query contains query.
func matches(path, query string, u *url.URL) bool {
	if !strings.HasSuffix(u.Path, path) {
		return false
	}
	raw, err := url.QueryUnescape(u.RawQuery)
	return query == "" || err == nil && strings.Contains(raw, query)
}

// SetFaults replaces the fault script; counting starts again at 1. It panics on a fault that
// Options would refuse.
func (s *Server) SetFaults(list []Fault) {
	if err := s.script.Set(list); err != nil {
		panic("set faults: " + err.Error())
	}
}
