package push

import (
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/outbox/files"
	"github.com/reportferry/reportferry/jobs/spend"
)

// addUp adds totals up by what by returns for their keys.
func addUp(totals map[string]*files.Total, by func(spend.Key) string) map[string]*files.Total {
	sums := map[string]*files.Total{}
	for text, t := range totals {
		key, err := spend.ParseKey(text)
		if err != nil {
			continue // the totals of sharing have no such keys
		}
		under := by(key)
		if sums[under] == nil {
			sums[under] = &files.Total{}
		}
		sums[under].Records += t.Records
		sums[under].Amount.Add(&sums[under].Amount, &t.Amount)
	}
	return sums
}

// amountOf returns a total's amount as a decimal. Totals count in the smallest unit that the
// service takes, 1/100000.
func amountOf(t *files.Total) string {
	return decimalText(new(big.Rat).SetFrac(&t.Amount, big.NewInt(100_000)))
}

// writeDispositions writes how many rows there are of each disposition, beginning with those that
// would be sent, and the sums of their amounts.
func (g *group) writeDispositions(w io.Writer, c files.Checked) {
	for _, x := range []struct {
		disposition outbox.Disposition
		rows        int64
		word        string
		note        string
	}{
		{outbox.ToSend, c.Pending + c.Unknown, "record", ""}, {outbox.SentBefore, c.Accepted, "record", "before"},
		{outbox.RejectedBefore, c.Rejected, "record", "before, by the service"},
		{outbox.IsDuplicate, c.Duplicates, "row", ""}, {outbox.IsConflict, c.Conflicts, "row", g.conflict},
		{outbox.IsRefused, c.Refused, "row", ""}, {outbox.IsSkipped, c.Skipped, "row", ""},
	} {
		if x.rows == 0 && x.disposition != outbox.ToSend {
			continue
		}
		line, summed := text.Plural(int(x.rows), x.word), int64(0)
		sums := addUp(c.Totals[x.disposition],
			func(k spend.Key) string { return k.Type + " " + strings.ToUpper(k.Currency) })
		for i, of := range slices.Sorted(maps.Keys(sums)) {
			line += map[bool]string{true: ": ", false: ", "}[i == 0] + of + " " + amountOf(sums[of])
			summed += sums[of].Records
		}
		if summed > 0 && summed < x.rows {
			line += fmt.Sprintf(" in %s of them", text.Count(summed))
		}
		if x.note != "" {
			line += "; " + x.note
		}
		text.Labeled(w, string(x.disposition), text.Fold(line, 66))
	}
}

// mostReasons is how many of a file's reasons for not taking rows are shown.
const mostReasons = 3
