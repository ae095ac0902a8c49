package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// Whatever is wrong with a table is said by every surface with the same word, the same days and the same command, and the exit codes agree.
func TestSurfacesAgree(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	for name, c := range map[string]struct {
		act       func(*testing.T, *service, *place)
		condition refresh.Condition
		command   string // DAYS stands for the first and the last day
		days      int
		wrong     bool
	}{
		"all is well": {act: func(*testing.T, *service, *place) {}},
		"days that can't be fetched": {func(t *testing.T, s *service, p *place) {
			p.empty(t)
			p.faulty(t, s, 3, `[{"kind": "status", "status": 400, "path": "csv_report", "query": "dimensions=day,app", "nth": 2}]`)
		}, refresh.Broken, "backfill installs --gaps", 2, true},
		"rows that differ": {func(t *testing.T, s *service, p *place) {
			p.empty(t)
			p.faulty(t, s, 3, `[{"kind": "drop_rows", "every_row": 3, "every": 1, "query": "dimensions=day,app"}]`)
		}, refresh.Differs, "backfill installs --from DAY --to DAY --force", 4, true},
		"an answer that takes rows away": {func(t *testing.T, s *service, p *place) {
			fault, err := json.Marshal([]map[string]any{{"kind": "hide_app", "app": s.apps(t)[0], "every": 1}})
			check(t, err)
			p.faulty(t, s, 3, string(fault))
		}, refresh.HeldBack, "accept installs --days DAY:DAY --reason TEXT", 3, true},
		"half a rebaseline": {func(t *testing.T, s *service, p *place) {
			p.edit(t, "currency: USD", "currency: EUR")
			p.faulty(t, s, 3, `[{"kind": "status", "status": 400, "path": "csv_report", "query": "dimensions=day,app", "nth": 2}]`, "--rebaseline")
		}, refresh.Mixed, "run installs --now", 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startService(t, "--days", "20", "--apps", "3")
			p := newPlace(t, s, 4, 2, living)
			p.edit(t, "lookback: 0", "lookback: 3")
			p.edit(t, "attempts: 4", "attempts: 1")
			p.allNumbers(t)
			if out, code := p.run("run", "--now"); code != 0 {
				t.Fatalf("exit code %d: %s", code, out)
			}
			c.act(t, s, p)
			exit := 0
			if c.wrong {
				exit = 3
			}
			var status struct {
				Tables []struct{ Problems []ledger.Problem }
			}
			out, code := p.run("status", "--json")
			check(t, json.Unmarshal([]byte(out), &status))
			if code != exit || len(status.Tables[0].Problems) > 0 != c.wrong {
				t.Fatalf("status: exit code %d, want %d: %s", code, exit, out)
			}
			surfaces := map[string][]ledger.Problem{"status --json": status.Tables[0].Problems, "--result": p.problems(t)}
			var gaps, plan struct{ Problems []ledger.Problem }
			out, code = p.run("gaps", "--json")
			check(t, json.Unmarshal([]byte(out), &gaps))
			if surfaces["gaps --json"] = gaps.Problems; code != exit {
				t.Errorf("gaps: exit code %d, want %d", code, exit)
			}
			out, _ = p.run("plan", "--log-format", "json")
			if at := strings.Index(out, `{"job"`); at >= 0 {
				check(t, json.NewDecoder(strings.NewReader(out[at:])).Decode(&plan))
			}
			if beyond := c.condition != refresh.Broken && c.condition != refresh.Mixed; beyond { // of the others its windows tell
				surfaces["plan"] = plan.Problems
			}
			var want ledger.Problem
			if c.wrong {
				want = status.Tables[0].Problems[0]
				first, last := want.Days[len(want.Days)-1].From, want.Days[0].Through
				command := strings.Replace(strings.Replace(c.command, "DAY", first.String(), 1), "DAY", last.String(), 1)
				if want.Condition != string(c.condition) || want.Partitions != c.days || want.Command != command || !want.Wrong {
					t.Errorf("status: %+v, want %s of %d days, and %s", want, c.condition, c.days, command)
				}
			}
			for surface, problems := range surfaces {
				if !c.wrong && len(problems) > 0 || c.wrong && !slices.ContainsFunc(problems, func(p ledger.Problem) bool { return spoken(p) == spoken(want) }) {
					t.Errorf("%s has %+v, want %+v", surface, problems, want)
				}
			}
			_, code = p.run("console", "--export", "file://"+filepath.Join(p.dir, "pages"))
			pages, err := os.ReadFile(filepath.Join(p.dir, "pages/problems.html"))
			if check(t, err); code != 0 {
				t.Errorf("console export: exit code %d", code)
			}
			texts := map[string]string{"the console": strings.ReplaceAll(string(pages), "&#39;", "'")}
			for _, args := range []string{"status", "gaps", "check", "runs last"} {
				out, code := p.run(strings.Fields(args)...)
				if texts[args] = out; code != exit && args != "runs last" {
					t.Errorf("%s: exit code %d, want %d: %s", args, code, exit, out)
				}
			}
			described := func() bool {
				text, err := os.ReadFile(filepath.Join(p.dir, "out/installs.dataset.json"))
				check(t, err)
				return strings.Contains(string(text), "two_meanings")
			}
			if mixed := c.condition == refresh.Mixed; described() != mixed {
				t.Errorf("dataset.json says that the table is of two meanings: %v", !mixed)
			} else if mixed {
				p.untilCode(0, "run", "--now")
				if described() {
					t.Error("dataset.json says that the table is of two meanings, and it no more is")
				}
			}
			for surface, text := range texts {
				for _, part := range []string{want.What, want.Command} {
					if !strings.Contains(strings.Join(strings.Fields(text), " "), part) {
						t.Errorf("%s doesn't say %q: %s", surface, part, text)
					}
				}
				for _, days := range want.Days {
					if !strings.Contains(text, days.From.String()) {
						t.Errorf("%s doesn't name %s", surface, days.From)
					}
				}
				if said := strings.Contains(text, "All of it works"); said != (surface == "check" && !c.wrong) {
					t.Errorf("%s says %s", surface, text)
				}
			}
		})
	}
}

// spoken is what surfaces say of a problem. A run tells the errors on lines of their own.
func spoken(p ledger.Problem) string {
	for i := range p.Days {
		p.Days[i].Run, p.Days[i].Error = "", ""
	}
	return fmt.Sprint(p)
}

// empty takes away what was recorded and published.
func (p *place) empty(t *testing.T) {
	t.Helper()
	check(t, os.RemoveAll(filepath.Join(p.dir, "ledger")))
	check(t, os.RemoveAll(filepath.Join(p.dir, "out")))
}

// faulty makes a run while the service has faults, which it then has no more.
func (p *place) faulty(t *testing.T, s *service, want int, faults string, args ...string) {
	t.Helper()
	s.admin(t, http.MethodPut, "faults", json.RawMessage(faults))
	if out, code := p.run(append([]string{"run", "--now", "--result", filepath.Join(p.dir, "result.json")}, args...)...); code != want {
		t.Fatalf("exit code %d, want %d: %s", code, want, out)
	}
	s.admin(t, http.MethodPut, "faults", json.RawMessage("[]"))
}

// problems gives the problems of the last run's result; none, if it had none.
func (p *place) problems(t *testing.T) []ledger.Problem {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, "result.json"))
	if os.IsNotExist(err) {
		return nil
	}
	check(t, err)
	var r struct {
		Jobs []struct{ Problems []ledger.Problem }
	}
	check(t, json.Unmarshal(text, &r))
	return r.Jobs[0].Problems
}
