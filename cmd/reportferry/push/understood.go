package push

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/outbox/files"
	"github.com/reportferry/reportferry/jobs/spend"
)

// readAs describes what a file was taken for, and how its numbers and times are spelled when they
// are text.
func readAs(c config.Job, checked files.Checked) string {
	form := checked.Read.String()
	if c.Spend == nil || checked.Read.Kind == "Parquet" {
		return text.Fold(form, 66)
	}
	form += "; decimal " + cmp.Or(c.Spend.Format.Decimal, "point")
	timed := func(record []files.Shown) bool {
		return slices.ContainsFunc(record, func(f files.Shown) bool { return f.Field == "engaged_at" })
	}
	switch {
	case c.Spend.Format.Dates != "":
		form += ", times as " + c.Spend.Format.Dates + " in " + c.Zone + ", the job's zone"
	case slices.ContainsFunc(checked.First, timed) && checked.Read.Kind != "XLSX":
		form += ", times as 2026-01-31T08:30:00Z"
	}
	return text.Fold(form, 66)
}

// writeRecords writes the first records as they would be sent, and the totals by day, type and
// currency of all that would be sent.
func writeRecords(w io.Writer, checked files.Checked) {
	for i, record := range checked.First {
		label := ""
		if i == 0 {
			label = "the first"
		}
		var fields []string
		for _, f := range record {
			fields = append(fields, f.Field+"="+terminal.Line(f.Value))
		}
		text.Labeled(w, label, text.Fold(strings.Join(fields, " "), 66))
	}
	days := addUp(checked.Totals[outbox.ToSend], func(k spend.Key) string {
		return k.Day + "  " + k.Type + "  " +
			strings.ToUpper(k.Currency)
	})
	for i, day := range slices.Sorted(maps.Keys(days)) {
		label := ""
		if i == 0 {
			label = "by day"
		}
		if i == mostDays && len(days) > mostDays+1 {
			text.Labeled(w, "", fmt.Sprintf("and %d more days, types and currencies", len(days)-mostDays))
			break
		}
		text.Labeled(w, label, fmt.Sprintf("%s  %s in %s", day, amountOf(days[day]),
			text.Plural(int(days[day].Records), "record")))
	}
	if checked.Beyond > 0 {
		text.Labeled(w, "", text.Plural(int(checked.Beyond), "record")+" of further days aren't in any of these sums")
	}
}

// mostDays is how many totals by day, type and currency are written.
const mostDays = 14
