package run

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/report"
)

// A jobDiff is the difference between two contents of a job's partition, ready to be written.
type jobDiff struct {
	report.Diff
	job   string
	limit int // how many rows the table has at most; 0: all
}

// changeMarks has the signs that rows of the table begin with, by what became of the row.
var changeMarks = map[string]string{report.Appeared: "+", report.Vanished: "-", report.Changed: "~"}

// writeTable writes each row under its dimensions, because several of them don't fit on a line
// beside their numbers.
func (s jobDiff) writeTable(w io.Writer) error {
	name := text.DayRange(s.Is.Partition, s.Is.Partition)
	if s.Only {
		fmt.Fprintf(w, "%s %s\n  is   %s\nThere is no other content to compare it with.\n", s.job, name,
			contentLine(s.Is))
		return nil
	}
	fmt.Fprintf(w, "%s %s\n", s.job, name)
	fmt.Fprintf(w, "  was  %s\n  is   %s\n", contentLine(s.Was), contentLine(s.Is))
	count := map[string]int{}
	for _, r := range s.Rows {
		count[r.Change]++
	}
	what := "by " + strings.Join(s.Dimensions, ", ")
	fmt.Fprintln(w, text.Fold(fmt.Sprintf("%d appeared, %d vanished, %d changed, %d are the same, %s",
		count[report.Appeared], count[report.Vanished], count[report.Changed], s.Same, what), 80))
	if len(s.Left) > 0 {
		fmt.Fprintln(w, text.Fold("not compared: "+strings.Join(s.Left, ", "), 80))
	}
	width := 0
	for _, metric := range s.Metrics {
		width = max(width, len(metric))
	}
	rows := s.Rows
	if s.limit > 0 && len(rows) > s.limit {
		rows = rows[:s.limit]
	}
	for _, r := range rows {
		var names []string
		for i, cell := range r.Key {
			names = append(names, text.OneLine(s.Dimensions[i]+" "+cmp.Or(cell, "(blank)")))
		}
		fmt.Fprintf(w, "\n%s %s\n", changeMarks[r.Change], strings.ReplaceAll(text.Fold(strings.Join(names, ", "), 78),
			"\n", "\n  "))
		for _, n := range r.Numbers {
			change := text.OneLine(cmp.Or(n.Was, "NULL") + " -> " + cmp.Or(n.Is, "NULL"))
			switch {
			case r.Change == report.Appeared:
				change = text.OneLine(cmp.Or(n.Is, "NULL"))
			case r.Change == report.Vanished:
				change = text.OneLine(cmp.Or(n.Was, "NULL"))
			case n.Delta != "":
				change += "  (" + text.Signed(n.Delta) + ")"
			}
			fmt.Fprintf(w, "    %s  %s\n", runewidth.FillRight(n.Metric, width), change)
		}
	}
	if more := len(s.Rows) - len(rows); more > 0 {
		fmt.Fprintf(w, "\nand %d more; --limit 0 shows all, --output csv and json have them\n", more)
	}
	return nil
}

// contentLine writes which content a record has, when it was fetched, and its rows.
func contentLine(e ledger.Record) string {
	return fmt.Sprintf("%d, fetched %s, %s rows", e.Seq, e.Fetched.UTC().Format(time.RFC3339), text.Count(e.Rows))
}

// A diffRow is a row of the difference as JSON. A diffNumber says what became of one of its
// metrics.
type (
	diffRow struct {
		Job       string                `json:"job"`
		Partition string                `json:"partition"`
		Was       int                   `json:"was_seq"`
		Is        int                   `json:"is_seq"`
		Change    string                `json:"change"`
		Key       map[string]string     `json:"key"`
		Numbers   map[string]diffNumber `json:"numbers"`
	}
	diffNumber struct {
		Was   string `json:"was"`
		Is    string `json:"is"`
		Delta string `json:"delta,omitempty"`
	}
)

// writeJSON writes each row as an object on a line of its own.
func (s jobDiff) writeJSON(w io.Writer) error {
	var rows []diffRow
	for _, r := range s.Rows {
		out := diffRow{s.job, text.DayRange(s.Is.Partition, s.Is.Partition), s.Was.Seq, s.Is.Seq, r.Change,
			map[string]string{}, map[string]diffNumber{}}
		for i, cell := range r.Key {
			out.Key[s.Dimensions[i]] = cell
		}
		for _, n := range r.Numbers {
			out.Numbers[n.Metric] = diffNumber{n.Was, n.Is, n.Delta}
		}
		rows = append(rows, out)
	}
	return text.JSONLines(w, rows)
}

// writeCSV writes each number of each row on a line, under its dimensions.
func (s jobDiff) writeCSV(w io.Writer) error {
	lines := [][]string{slices.Concat([]string{"change"}, s.Dimensions, []string{"metric", "was", "is", "delta"})}
	for _, r := range s.Rows {
		for _, n := range r.Numbers {
			lines = append(lines, slices.Concat([]string{r.Change}, r.Key, []string{n.Metric, n.Was, n.Is, n.Delta}))
		}
	}
	return csv.NewWriter(w).WriteAll(lines)
}
