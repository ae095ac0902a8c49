package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/adjust"
	pages "github.com/reportferry/reportferry/internal/console"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/status"
	"github.com/reportferry/reportferry/sinks"
)

// What a run tells of is what its tables lack, and those of its errors of which the ledger doesn't
// tell.
func TestNews(t *testing.T) {
	day := civil.Date{Year: 2026, Month: 1, Day: 1}
	seen := func(conditions ...refresh.Condition) pages.JobStatus {
		s := pages.JobStatus{Job: pages.Job{Name: "daily", Inspect: func(context.Context,
			ledger.Past) (pages.TableState, error) {
			return pages.TableState{}, nil
		}}}
		for i, c := range conditions {
			s.State.Calendar = append(s.State.Calendar, refresh.Entry{Partition: day.AddDays(i), Condition: c})
		}
		s.State.Problems = status.Of("daily", "report", s.State.Inspection, nil)
		return s
	}
	broken := errors.New("the sink broke")
	ofUnit := ledger.Result{Job: "daily", Errs: []error{broken},
		Failures: []ledger.Failure{{Unit: "2026-01-02", Error: "the sink broke"}}}
	ofPlan := ledger.Result{Job: "daily", Errs: []error{broken}, Failures: []ledger.Failure{{Error: "the sink broke"}}}
	files := seen()
	noon := time.Now()
	started := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	files.Pushed = []outbox.File{
		{Name: "b.csv", Started: started(3), Ended: noon, Last: noon, Rows: 3, Accepted: 2, Conflicts: 1},
		{Name: "a.csv", Started: started(2), Ended: noon, Last: noon, Rows: 3, Accepted: 2, Refused: 1},
		{Name: "a.csv", Started: started(1), Ended: noon, Last: noon, Rows: 3, Refused: 3},
		{Name: "open.csv", Started: started(1), Last: noon, Rows: 3, Refused: 1, Pending: 1},
		{Name: "old.csv", Started: started(1), Ended: noon.Add(-outbox.Recent), Last: noon.Add(-outbox.Recent), Rows: 3,
			Refused: 1},
		{Name: "good.csv", Started: started(1), Ended: noon, Last: noon, Rows: 3, Accepted: 3, Skipped: 2},
	}
	unknown := seen(refresh.Absent)
	unknown.Err = errors.New("no answer")
	for _, c := range []struct {
		name string
		seen pages.JobStatus
		res  ledger.Result
		want string
	}{
		{"all is well", seen(refresh.Final, refresh.Partial), ledger.Result{}, "looked at; calm"},
		{"rows of days", seen(refresh.Absent, refresh.Absent, refresh.Final, refresh.CutOff, refresh.Differs),
			ledger.Result{},
			"looked at; calm; stale 01 to 02, before 03, 2; stale 04 to 04, after 03, before 05, 1; unreconciled 05 " +
				"to 05, after 04, 1"},
		{"numbers that moved", seen(refresh.ChangedFinal, refresh.MovedAndLeft, refresh.NotYet), ledger.Result{},
			"looked at; calm; changed_after_final 01 to 01, past, before 02, 1: 2026-01-01@0001-01-01T00:00:00Z; " +
				"changed_after_final 02 to 02, after 01, before 03, 1: 2026-01-02@0001-01-01T00:00:00Z"},
		{"a job that couldn't be looked at", unknown, ledger.Result{}, "calm"},
		{"others are at work on it", seen(refresh.Absent), ledger.Result{Outcome: ledger.Outcome{Windows: 2, Held: 1}},
			"looked at; calm; shared; stale 01 to 01, 1"},
		{"it is being fetched", seen(refresh.Running, refresh.Final), ledger.Result{}, "looked at; calm; running 01"},
		{"a unit of which the ledger tells", seen(refresh.Final, refresh.Broken), ofUnit,
			"looked at; failed 02 to 02, after 01, 1"},
		{"a unit that another process fetches again", seen(refresh.Final, refresh.Running), ofUnit,
			"looked at; running 02"},
		{"a unit of a job without a ledger", seen(), ofUnit, "looked at; failed, 1"},
		{"no plan", seen(refresh.Final, refresh.Broken), ofPlan, "looked at; failed 02 to 02, after 01, 1; failed, 1"},
		{"no plan while others are at work", seen(refresh.Running), ofPlan, "looked at; running 01; failed, 1"},
		{"rows of files that weren't taken", files, ledger.Result{},
			"looked at; calm; not_taken, past, 0: a.csv@2026-01-02T00:00:00Z b.csv@2026-01-03T00:00:00Z"},
		{"errors of several kinds", seen(refresh.Broken), ledger.Result{
			Errs: []error{fmt.Errorf("day: %w", sinks.ErrConflict), &adjust.Error{Status: 401, Err: adjust.ErrAuth},
				&adjust.Error{Status: 400, Metric: "gone_events"}},
			Failures: []ledger.Failure{{Unit: "a"}, {Unit: "b"}, {Unit: "c"}},
		}, "looked at; failed 01 to 01, 1; denied, 1; conflict, 1; schema, 1"},
	} {
		c.res.Job = "daily"
		other := seen(refresh.Broken)
		other.Name = "other"
		n := newsOf([]pages.JobStatus{other, c.seen}, ledger.Run{ID: "r", Results: []ledger.Result{c.res}},
			[]string{"daily"}, " --config x.yml")
		var got []string
		if len(n.Jobs) == 1 && n.Jobs[0] == "daily" {
			got = append(got, "looked at")
		}
		if n.Calm["daily"] {
			got = append(got, "calm")
		}
		if n.Shared["daily"] {
			got = append(got, "shared")
		}
		for _, r := range n.Running {
			got = append(got, "running "+r.From[8:])
		}
		for _, t := range n.Problems {
			line := t.Reason
			if t.From != "" {
				line += " " + t.From[8:] + " to " + t.Through[8:]
			}
			if t.Past {
				line += ", past"
			}
			if t.Before != "" {
				line += ", after " + t.Before[8:]
			}
			if t.After != "" {
				line += ", before " + t.After[8:]
			}
			if line = fmt.Sprintf("%s, %d", line, t.Count); t.Records != nil {
				line += ": " + strings.Join(t.Records, " ")
			}
			got = append(got, line)
		}
		if line := strings.Join(got, "; "); line != c.want {
			t.Errorf("%s: got  %s\nwant %s", c.name, line, c.want)
		}
		for _, problem := range n.Problems {
			if !strings.HasPrefix(problem.Do, "reportferry ") || !strings.Contains(problem.Do, " daily") ||
				!strings.HasSuffix(problem.Do, " --config x.yml") {
				t.Errorf("%s: the command is %q", c.name, problem.Do)
			}
		}
	}
}
