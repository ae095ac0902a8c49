//go:build !fuzz

package spend

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gocloud.dev/blob/memblob"
	"pgregory.net/rapid"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/outbox/files"
)

// mistakes are cells that aren't right, by the field that they stand in.
var mistakes = map[string][]string{
	"cost_id":       {"", "short", "=1+1", " blank-before-it", "'=twelve-and-more"},
	"cost_currency": {"", "Euro", "€", "+EUR"},
	"cost_amount":   {"", "1,25", "-1", "@1", "1.234567", "=1+1"},
	"time":          {"yesterday", "2001-01-01T00:00:00Z", "-Nxk3"},
}

var fileColumns = []string{"cost_id", "cost_currency", "cost_amount", "time"}

// A file has rows with mistakes. Whoever puts right what its rejects name, and gives them another
// name as they are, has each record sent once and no other: of a file of CSV as of one of JSON
// Lines, and of IDs that a spreadsheet takes for formulas.
func TestRejectsAreCorrected(t *testing.T) {
	r := newRigReading(t, "partner-key", []string{"spend-unknown=200", "spend-case=lower", "spend-parameters=both",
		"spend-busy=never"})
	r.o.MaxRejects = nil
	records, runs := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		r.source, r.rejects = memblob.OpenBucket(nil), memblob.OpenBucket(nil)
		r.ledger = ledger.Open(ledger.Options{Store: bucket.NewMemory(), URL: "mem://", Lease: time.Minute})
		r.o.Inbox.Bucket, r.o.Rejects, r.o.Ledger = r.source, r.rejects, r.ledger
		runs++
		lines := rapid.Bool().Draw(rt, "JSON Lines")
		var good, rows [][]string
		for i := range rapid.IntRange(1, 8).Draw(rt, "rows") {
			id := rapid.SampledFrom([]string{"", "-", "=", "'", "@"}).Draw(rt,
				"begins with") + fmt.Sprintf("record-number-%d-%d", runs, i)
			right := []string{id, "EUR", "1.5", time.Now().UTC().Format(time.RFC3339)}
			row := slices.Clone(right)
			if rapid.Bool().Draw(rt, "bad") {
				at := rapid.IntRange(0, len(fileColumns)-1).Draw(rt, "field")
				row[at] = rapid.SampledFrom(mistakes[fileColumns[at]]).Draw(rt, "mistake")
			}
			good, rows = append(good, right), append(rows, row)
		}
		text := csvOf(append([][]string{fileColumns}, rows...))
		if lines {
			text = linesOf(rows)
		}
		r.put(t, today(0)+"/first.csv", text)
		res := r.run(t)
		rejects, err := r.rejects.ReadAll(t.Context(), today(0)+"/first.csv"+files.RejectsSuffix)
		if err == nil {
			r.put(t, today(0)+"/second.csv", corrected(rt, string(rejects), good, lines))
			res = r.run(t)
		}
		if len(res.Errs) > 0 {
			rt.Fatal(res.Errs)
		}
		records += len(good)
		if books := r.server.Spend(); books.Records != records || books.Duplicates+books.Replaced != 0 {
			rt.Fatalf("%d records are right, and the service has %+v", records, books)
		}
	})
}

// corrected is a rejects file with the right cells where its rows say that one is wrong, and else
// as it is.
func corrected(t *rapid.T, text string, good [][]string, lines bool) string {
	text, marked := strings.CutPrefix(text, "\ufeff")
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || !marked {
		t.Fatalf("%v: %q", err, text)
	}
	for _, row := range all[1:] {
		for _, cell := range row {
			if outbox.Guarded(outbox.Unguarded(cell)) != cell {
				t.Fatalf("a spreadsheet computes %q", cell)
			}
		}
		added := row[len(row)-len(outbox.RejectColumns):]
		number, err := strconv.Atoi(added[3])
		if err != nil || added[0] == "" || added[2] == "" || added[4] != today(0)+"/first.csv" {
			t.Fatalf("%q", row)
		}
		at := slices.Index(fileColumns, strings.ReplaceAll(added[0], "engaged_at", "time"))
		if right := good[number-1]; lines {
			row[0] = linesOf([][]string{right})
		} else if row[at] = right[at]; rapid.Bool().Draw(t, "with its mark") {
			row[at] = outbox.Guarded(right[at])
		}
	}
	return "\ufeff" + csvOf(all)
}

func csvOf(rows [][]string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.WriteAll(rows) // a builder takes all
	return b.String()
}

func linesOf(rows [][]string) string {
	var b strings.Builder
	for _, row := range rows {
		one := map[string]string{}
		for i, name := range fileColumns {
			one[name] = row[i]
		}
		line, _ := json.Marshal(one) // texts can be written
		b.WriteString(string(line) + "\n")
	}
	return b.String()
}
