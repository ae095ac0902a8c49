package ask

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/internal/catalog"
)

// Values of a report's ad_spend_mode: the default, and one that counts the costs that networks
// report themselves.
const (
	usualMode   = "adjust"
	networkMode = "network"
)

// fieldColumns are the columns of the table of each kind, without the name at the start of a line
// and the description, which gets the rest of the line.
var fieldColumns = map[fieldKind][]struct {
	head string
	cell func(fieldEntry) string
}{
	dimensionKind:   {{"TYPE", shownType}},
	metricKind:      {{"TYPE", shownType}, {"UNIT", shownUnit}, {"SUM", shownSum}, {"FINAL", shownFinal}},
	eventMetricKind: {{"TYPE", shownType}, {"UNIT", shownUnit}, {"SUM", shownSum}, {"FINAL", shownFinal}},
	eventKind:       {},
}

// shownType returns the type of a field for its column.
func shownType(e fieldEntry) string { return e.Type.String() }

// shownUnit returns the unit of a field for its column.
func shownUnit(e fieldEntry) string { return e.Unit() }

// shownSum returns Summable for a narrow column.
func shownSum(e fieldEntry) string {
	if e.Additive == catalog.NotOverTime {
		return "part"
	}
	return e.Summable()
}

// shownFinal returns Final for a narrow column: a number of days, {p}, {m} or never.
func shownFinal(e fieldEntry) string {
	for _, p := range catalog.Placeholders(e.Slug) {
		if p == "{p}" || p == "{m}" {
			return p
		}
	}
	days, ever := e.FinalAfter(usualMode)
	if !ever {
		return "never"
	}
	return fmt.Sprint(days)
}

// writeFieldTables writes a table for each kind, and a legend of the columns and of the braces in
// patterns.
func writeFieldTables(w io.Writer, list []fieldEntry) {
	for _, k := range []fieldKind{dimensionKind, metricKind, eventKind, eventMetricKind} {
		entries := slices.DeleteFunc(slices.Clone(list), func(e fieldEntry) bool { return e.kind != k })
		if len(entries) > 0 {
			writeFieldTable(w, k, entries)
			fmt.Fprintln(w, text.Plural(len(entries), string(k))+"\n")
		}
	}
	for _, line := range fieldLegend(list) {
		fmt.Fprintln(w, text.Fold(line, 80))
	}
}

// writeFieldTable writes the entries of a kind. A name is never cut, because users copy it.
func writeFieldTable(w io.Writer, k fieldKind, list []fieldEntry) {
	g := text.Grid{Heads: []string{strings.ToUpper(string(k))}, Alone: 32, Width: 80}
	indent := ""
	if slices.ContainsFunc(list, func(e fieldEntry) bool { return e.mark() != "" }) {
		indent = "  "
	}
	g.Heads[0] = indent + g.Heads[0]
	for _, c := range fieldColumns[k] {
		g.Heads = append(g.Heads, c.head)
	}
	g.Heads = append(g.Heads, "DESCRIPTION")
	for _, e := range list {
		cells := []string{indent + e.Slug}
		if e.mark() != "" {
			cells[0] = e.mark() + " " + e.Slug
		}
		for _, c := range fieldColumns[k] {
			cells = append(cells, c.cell(e))
		}
		g.Rows = append(g.Rows, append(cells, e.label()))
	}
	g.Write(w)
}

// fieldLegend returns lines that explain the columns, marks and braces that a list has.
func fieldLegend(list []fieldEntry) (lines []string) {
	has := func(of func(fieldEntry) bool) bool { return slices.ContainsFunc(list, of) }
	if has(fieldEntry.IsMetric) {
		lines = append(lines, "SUM: may rows be added up? FINAL: days after a period's end until its value stays.")
	}
	if has(func(e fieldEntry) bool { return shownSum(e) == "part" }) {
		lines = append(lines, "part: over networks or countries, not over time.")
	}
	if has(func(e fieldEntry) bool { return e.Unit() == "ratio" }) {
		lines = append(lines, "A ratio is a fraction: 0.25 is 25 %.")
	}
	var braces []string
	for _, e := range list {
		braces = append(braces, catalog.Placeholders(e.Slug)...)
	}
	slices.Sort(braces)
	for _, b := range slices.Compact(braces) {
		lines = append(lines, b+" stands for "+catalog.Filling(b)+".")
	}
	if has(func(e fieldEntry) bool { return e.mark() == "+" }) {
		lines = append(lines, "+ the service has it, and the catalogue doesn't: a job names a metric's type under "+
			"types:.")
	}
	if has(func(e fieldEntry) bool { return e.mark() == "-" }) {
		lines = append(lines, "- the service doesn't list it; it may take it all the same.")
	}
	if at := slices.IndexFunc(list, func(e fieldEntry) bool { return e.kind == eventKind }); at >= 0 {
		lines = append(lines, "What is counted of an event: reportferry fields --search "+list[at].Slug+"_")
	}
	return append(lines, "One in whole: reportferry fields "+list[0].Slug)
}
