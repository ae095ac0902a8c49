package refresh

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
)

func TestChanges(t *testing.T) {
	night := func(n int) time.Time { return time.Date(2026, 3, n, 6, 0, 0, 0, time.UTC) }
	e := func(day string, seq, fetched int, rows int64, hash string, sums ...string) ledger.Record {
		r := ledger.Record{
			Partition: date(day), Seq: seq, Fetched: night(fetched), Since: night(fetched), Rows: rows, Hash: hash,
			Shape: "s",
			State: ledger.Written, Run: "r" + hash, Reason: "lookback", Finality: Restating, Sums: map[string]string{},
		}
		for i := 0; i < len(sums); i += 2 {
			r.Sums[sums[i]] = sums[i+1]
		}
		return r
	}
	again := e("2026-03-01", 5, 9, 3, "b", "installs", "12", "cost", "211.120000")
	again.Since, again.Finality = night(3), Final
	other := e("2026-03-02", 3, 4, 0, "e")
	other.State = ledger.Cleared
	wider := e("2026-03-03", 3, 4, 2, "w", "installs", "7", "clicks", "1")
	wider.Shape, wider.Reason = "wider", string(NewColumns)
	kept := e("2026-03-04", 3, 4, 2, "k", "installs", "7")
	kept.State = ledger.Kept
	got := Changes([]ledger.Record{
		e("2026-03-01", 1, 2, 3, "a", "installs", "12", "cost", "69.960000"),
		again,
		e("2026-03-01", 8, 10, 4, "c", "installs", "15", "cost", "211.119999"),
		e("2026-03-02", 1, 2, 2, "d", "installs", "7", "float", "1e-3"),
		other,
		e("2026-03-03", 1, 2, 2, "v", "installs", "7"),
		wider,
		e("2026-03-04", 1, 2, 2, "k", "installs", "7"),
		kept,
		e("2026-03-05", 0, 1, 0, "n"),
		e("2026-03-05", 1, 2, 2, "x", "cost", "7.000000"),
		e("2026-03-05", 3, 3, 2, "y", "cost", "7.000000"),
	})
	var lines []string
	for _, c := range got {
		line, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	want := `
{"partition":"2026-03-01","seq":5,"before":"2026-03-02T06:00:00Z","now":"2026-03-03T06:00:00Z","run":"rb","metric":"cost","was":"69.96","is":"211.12","delta":"141.16","reason":"lookback","finality":"restating"}
{"partition":"2026-03-01","seq":8,"before":"2026-03-09T06:00:00Z","now":"2026-03-10T06:00:00Z","run":"rc","metric":"cost","was":"211.12","is":"211.119999","delta":"-0.000001","reason":"lookback","finality":"final"}
{"partition":"2026-03-01","seq":8,"before":"2026-03-09T06:00:00Z","now":"2026-03-10T06:00:00Z","run":"rc","metric":"installs","was":"12","is":"15","delta":"3","reason":"lookback","finality":"final"}
{"partition":"2026-03-01","seq":8,"before":"2026-03-09T06:00:00Z","now":"2026-03-10T06:00:00Z","run":"rc","metric":"rows","was":"3","is":"4","delta":"1","reason":"lookback","finality":"final"}
{"partition":"2026-03-02","seq":3,"before":"2026-03-02T06:00:00Z","now":"2026-03-04T06:00:00Z","run":"re","metric":"float","was":"0.001","is":"0","delta":"-0.001","reason":"lookback","finality":"restating"}
{"partition":"2026-03-02","seq":3,"before":"2026-03-02T06:00:00Z","now":"2026-03-04T06:00:00Z","run":"re","metric":"installs","was":"7","is":"0","delta":"-7","reason":"lookback","finality":"restating"}
{"partition":"2026-03-02","seq":3,"before":"2026-03-02T06:00:00Z","now":"2026-03-04T06:00:00Z","run":"re","metric":"rows","was":"2","is":"0","delta":"-2","reason":"lookback","finality":"restating"}
{"partition":"2026-03-05","seq":1,"before":"2026-03-01T06:00:00Z","now":"2026-03-02T06:00:00Z","run":"rx","metric":"cost","was":"0","is":"7","delta":"7","reason":"lookback","finality":"restating"}
{"partition":"2026-03-05","seq":1,"before":"2026-03-01T06:00:00Z","now":"2026-03-02T06:00:00Z","run":"rx","metric":"rows","was":"0","is":"2","delta":"2","reason":"lookback","finality":"restating"}
{"partition":"2026-03-05","seq":3,"before":"2026-03-02T06:00:00Z","now":"2026-03-03T06:00:00Z","run":"ry","metric":"rows","was":"2","is":"2","delta":"0","reason":"lookback","finality":"restating"}
`
	if text := "\n" + strings.Join(lines, "\n") + "\n"; text != want {
		t.Errorf("changes:%s", text)
	}
}

// Contents of different meanings aren't compared, and are told apart. A column that was added
// changes no meaning.
func TestRebaselined(t *testing.T) {
	var history []ledger.Record
	for i, of := range []struct{ shape, meaning, cost string }{{"a", "", "7"}, {"a", "usd", "8"}, {"b", "eur", "6"},
		{"c", "eur", "5"}, {"c", "", "5.5"}} {
		history = append(history, ledger.Record{
			Partition: date("2026-03-01"), Seq: i + 1, Rows: 1, Shape: of.shape, Meaning: of.meaning,
			Sums: map[string]string{"cost": of.cost}, Hash: of.cost, State: ledger.Written,
			Fetched: time.Date(2026, 3, 2+i, 6, 0, 0, 0, time.UTC),
		})
	}
	var got []string
	rebaselined, err := Rebaselined(history, func(e ledger.Record) (ledger.Shape, error) {
		return ledger.Shape{Fingerprint: map[string]string{"currency": e.Meaning}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range append(Changes(history), rebaselined...) {
		got = append(got, strings.Join([]string{c.Metric, c.Was, c.Is, c.Delta, c.Now.Format("02")}, " "))
	}
	if want := "cost 7 8 1 03, cost 6 5 -1 05, cost 5 5.5 0.5 06, rebaseline usd eur  04"; strings.Join(got,
		", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
}
