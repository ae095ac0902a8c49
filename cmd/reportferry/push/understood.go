package push

import (
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/cmd/reportferry/human"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs/outbox/files"
	"github.com/reportferry/reportferry/jobs/spend"
)

// readAs says what a file was taken for, and how its numbers and times are spelled when they are text.
func readAs(c config.Job, u files.Understanding) string {
	text := u.String()
	if c.Spend == nil || u.Kind == "Parquet" {
		return human.Fold(text, 66)
	}
	decimal, times := "point", "as 2026-01-31T08:30:00Z"
	if c.Spend.Format.Decimal != "" {
		decimal = c.Spend.Format.Decimal
	}
	if c.Spend.Format.Dates != "" {
		times = "as " + c.Spend.Format.Dates + " in " + c.Zone + ", the job's zone"
	}
	return human.Fold(fmt.Sprintf("%s; decimal %s, times %s", text, decimal, times), 66)
}

// writeRecords writes the first records as they would be sent, and the totals of all that are right.
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
		human.Row(w, label, human.Fold(strings.Join(fields, " "), 66))
	}
	totals := map[string]*files.Total{}
	for text, t := range checked.Totals {
		key, err := spend.ParseKey(text)
		if err != nil {
			continue // sharing has none
		}
		day := key.Day + "  " + key.Type + "  " + strings.ToUpper(key.Currency)
		if totals[day] == nil {
			totals[day] = &files.Total{}
		}
		totals[day].Records += t.Records
		totals[day].Amount.Add(&totals[day].Amount, &t.Amount)
	}
	var days []string
	for day := range totals {
		days = append(days, day)
	}
	slices.Sort(days)
	for i, day := range days {
		label := ""
		if i == 0 {
			label = "in all"
		}
		if i == mostDays && len(days) > mostDays+1 {
			human.Row(w, "", fmt.Sprintf("and %d more days, types and currencies", len(days)-mostDays))
			break
		}
		sum := new(big.Rat).SetFrac(&totals[day].Amount, big.NewInt(100_000)) // in the smallest unit that the service takes
		human.Row(w, label, fmt.Sprintf("%s  %s in %s", day, plain(sum), human.Plural(int(totals[day].Records), "record")))
	}
	if checked.Beyond > 0 {
		human.Row(w, "", human.Plural(int(checked.Beyond), "record")+" of further days aren't among these")
	}
}

// mostDays of totals are written.
const mostDays = 14
