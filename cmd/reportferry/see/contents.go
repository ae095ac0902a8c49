package see

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// numberOf returns a record's number of a metric, or "" if it has none.
func numberOf(e ledger.Record, metric string) string {
	if n := refresh.Numbers(e)[metric]; n != nil {
		return refresh.Decimal(n)
	}
	return ""
}

// stateOf returns how final the numbers of a record are, or why there are none.
func stateOf(e ledger.Record) string {
	if e.State != ledger.Written {
		return string(e.State)
	}
	return e.Finality
}

// toTheMinute returns a time as the tables show it.
func toTheMinute(at time.Time) string { return at.UTC().Format("2006-01-02 15:04") }

// delta returns by how much a record changed a metric, or "" if it didn't.
func (t tableHistory) delta(e ledger.Record, metric string) string {
	for _, c := range t.changes[recordID{e.Partition, e.Seq}] {
		if c.Metric == metric {
			return c.Delta
		}
	}
	return ""
}

// writeTable writes a line for each content under its period.
func (t tableHistory) writeTable(w io.Writer) error {
	if len(t.records) == 0 {
		fmt.Fprintf(w, "%s: nothing is recorded of these periods\n", t.job)
		return nil
	}
	g := text.Grid{Heads: []string{"fetched, UTC", "seq", "state", "reason"}, Right: []bool{false, true, false, false},
		Alone: 24}
	shown := t.metrics
	if shown == nil {
		shown = []string{refresh.RowCount}
	}
	for _, m := range shown {
		g.Heads, g.Right = append(g.Heads, m), append(g.Right, true)
		if t.metrics != nil {
			g.Heads, g.Right = append(g.Heads, "change"), append(g.Right, true)
		}
	}
	if t.metrics == nil {
		g.Heads = append(g.Heads, "moved")
		g.Most = []int{0, 0, 0, 0, 0, 20}
	}
	for i, e := range t.records {
		if i == 0 || t.records[i-1].Partition != e.Partition {
			g.Rows = append(g.Rows, []string{text.DayRange(e.Partition, e.Partition)})
		}
		row := []string{"  " + toTheMinute(e.Since), fmt.Sprint(e.Seq), stateOf(e), e.Reason}
		for _, m := range shown {
			row = append(row, numberOf(e, m))
			if t.metrics != nil {
				row = append(row, text.Signed(t.delta(e, m)))
			}
		}
		if t.metrics == nil {
			row = append(row, strings.Join(t.moved(e), ", "))
		}
		g.Rows = append(g.Rows, row)
		for _, one := range e.Events {
			text := text.Fold(one.What+" "+toTheMinute(one.At)+": "+terminal.Line(one.Why), 74)
			for line := range strings.SplitSeq("    "+strings.ReplaceAll(text, "\n", "\n      "), "\n") {
				g.Rows = append(g.Rows, []string{line})
			}
		}
	}
	g.Write(w)
	return nil
}

// moved returns the names of the metrics that a record changed.
func (t tableHistory) moved(e ledger.Record) (names []string) {
	for _, c := range t.changes[recordID{e.Partition, e.Seq}] {
		switch {
		case c.Delta == "0":
			names = append(names, "rows, no sum")
		case c.Metric != refresh.RowCount:
			names = append(names, c.Metric)
		}
	}
	return names
}

// A contentLine is one of the contents that a partition has had, as JSON shows it.
type contentLine struct {
	Job   string `json:"job"`
	Table string `json:"table"`
	ledger.Record
	Changes []refresh.Change `json:"changes"`          // from the content before
	Events  []ledger.Event   `json:"events,omitempty"` // while the partition had this content
}

// writeJSON writes an object for each content, as the ledger has it.
func (t tableHistory) writeJSON(w io.Writer) error {
	list := []contentLine{}
	for _, e := range t.records {
		c := contentLine{t.job, t.table, e, []refresh.Change{}, e.Events}
		if t.metrics != nil {
			c.Sums = maps.Clone(e.Sums)
			maps.DeleteFunc(c.Sums, func(name, _ string) bool { return !slices.Contains(t.metrics, name) })
		}
		for _, change := range t.changes[recordID{e.Partition, e.Seq}] {
			if t.metrics == nil || slices.Contains(t.metrics, change.Metric) {
				c.Changes = append(c.Changes, change)
			}
		}
		list = append(list, c)
	}
	return text.JSONLines(w, list)
}

// writeCSV writes a line for each number and, unless --metric names some numbers, for each event.
func (t tableHistory) writeCSV(w io.Writer) error {
	lines := [][]string{{"job", "partition", "seq", "fetched", "last_fetched", "run", "reason", "state", "finality",
		"metric", "value", "delta"}}
	for _, e := range t.records {
		metrics := t.metrics
		if metrics == nil {
			metrics = append([]string{refresh.RowCount}, slices.Sorted(maps.Keys(e.Sums))...)
			for _, one := range e.Events {
				at := one.At.UTC().Format(time.RFC3339)
				lines = append(lines, []string{t.job, e.Partition.String(), fmt.Sprint(e.Seq), at, at, one.Run, "",
					string(e.State), e.Finality, one.What, one.Why, ""})
			}
		}
		for _, m := range metrics {
			lines = append(lines, []string{
				t.job, e.Partition.String(), fmt.Sprint(e.Seq), e.Since.UTC().Format(time.RFC3339),
				e.Fetched.UTC().Format(time.RFC3339),
				e.Run, e.Reason, string(e.State), e.Finality, m, numberOf(e, m), t.delta(e, m),
			})
		}
	}
	return csv.NewWriter(terminal.Data(w)).WriteAll(lines)
}
