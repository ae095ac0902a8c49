package see

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// mostTables bounds the tables that are named. Somebody with more tables has seen the end of a run
// before.
const mostTables = 6

// WriteEnd reports on a run: what each table holds now that got rows, which jobs pushed files, and
// when the next run is due. After a run that changed nothing it writes at most a hint at --name.
func WriteEnd(w io.Writer, s *wire.RunInfo, now time.Time) {
	// The tables that got rows, and the jobs that pushed files.
	list, results := s.List, s.Record.Results
	g := text.Grid{Heads: []string{"TABLE", "ROWS", "PARTITIONS", "NEWEST", "WHERE"}, Right: []bool{false, true, true},
		Most: []int{32}}
	how := ""           // a command that shows the first table's rows
	named, more := 0, 0 // numbers of tables that are named, and that aren't
	var pushed []string
	for i, r := range results {
		if r.Outcome.Written == 0 {
			continue
		}
		if len(list[i].Targets) == 0 {
			pushed = append(pushed, r.Job)
			continue
		}
		if r.Stored.Partitions == 0 {
			continue
		}
		if named == mostTables {
			more++
			continue
		}
		named++
		for _, target := range list[i].Targets {
			at, read := readCommand(target, list[i].Table)
			has := r.Stored
			g.Rows = append(g.Rows, []string{list[i].Table, text.Count(has.Rows), fmt.Sprint(has.Partitions),
				text.DayRange(has.Newest, has.Newest), at})
			if how == "" {
				how = read
			}
		}
	}
	// What was found is printed, and then what to do next.
	if len(g.Rows) > 0 {
		fmt.Fprintln(w)
		g.Write(w)
		if more > 0 {
			fmt.Fprintf(w, "and %s more; `reportferry status%s` shows all\n", text.Plural(more, "table"), s.Again())
		}
		if how != "" {
			fmt.Fprintf(w, "\n%s\n", how)
		}
	}
	if len(g.Rows)+len(pushed) == 0 {
		if s.Taken() && slices.ContainsFunc(results,
			func(r ledger.Result) bool { return errors.Is(errors.Join(r.Errs...), ledger.ErrRefused) }) {
			fmt.Fprintln(w, "With --name the same flags make another table beside it.")
		}
		return
	}
	fmt.Fprintln(w)
	writePushed(w, s.Session, pushed)
	fmt.Fprintln(w, text.Fold(NextRun(s.Session, list, now), 80))
	if s.Taken() {
		file := s.ConfigFile
		if _, err := os.Stat(file); err == nil {
			file = list[0].Name + ".yml" // an existing file isn't overwritten
		}
		fmt.Fprintf(w, "%s\n", text.Fold("For backfill, status and serve: the same with --print-config >"+file, 80))
	}
}

// writePushed writes, for each job that pushed files, the command that shows what became of them.
func writePushed(w io.Writer, s *wire.Session, pushed []string) {
	for _, j := range s.Config.Jobs {
		if slices.Contains(pushed, j.Name) {
			fmt.Fprintf(w, "What became of it: `reportferry %s status --job %s%s`\n", j.Kind, j.Name, s.Again())
		}
	}
}

// NextRun returns a sentence that says when the next of the jobs is due, and which command does it.
func NextRun(s *wire.Session, list []jobs.Job, now time.Time) string {
	var first time.Time
	var due []string
	for _, j := range s.Config.Jobs {
		if !slices.ContainsFunc(list, func(of jobs.Job) bool { return of.Name == j.Name }) {
			continue
		}
		schedule, err := refresh.ParseSchedule(j.Schedule, j.Zone)
		if err != nil || schedule == nil {
			continue
		}
		at := schedule.Next(now)
		if first.IsZero() || at.Before(first) {
			first, due = at, nil
		}
		if at.Equal(first) {
			due = append(due, j.Name)
		}
	}
	if len(due) > 3 {
		due = append(due[:3], "and more")
	}
	text := fmt.Sprintf("Next: %s, from %s UTC on", strings.Join(due, ", "), first.UTC().Format("2006-01-02 15:04"))
	switch {
	case len(due) == 0:
		return "Next: there is no schedule, so each `reportferry run" + s.Again() + "` does what is due by then."
	case s.Taken():
		return text + ", by the same command."
	}
	return text + ", by `reportferry run" + s.Again() + "` or `reportferry serve" + s.Again() + "`."
}

// readCommand returns where a table is in a sink, and a shell command that shows its rows.
func readCommand(target ledger.Target, table string) (at, command string) {
	if files, ok := target.Sink.(fileSink); ok {
		return readFiles(files.Pattern(table))
	}
	if place, ok := strings.CutPrefix(target.Name, "bigquery://"); ok {
		place = strings.Replace(place, "/", ":", 1) + "." + sinks.Flat(table)
		return place, "bq head -n 10 " + place
	}
	return target.Name, ""
}
