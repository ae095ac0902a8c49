package spend_test

import (
	"encoding/csv"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/slow"
)

// costCells reads a csv_report by day, app and campaign as micros, by row and metric.
func costCells(t *testing.T, s *emulator.Server, metrics, more string) map[string]*big.Int {
	t.Helper()
	body := emutest.Get(t, s, "csv_report?dimensions=day,app,campaign&metrics="+metrics+"&date_period=-9d:-0d"+more,
		200)
	rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	cells := map[string]*big.Int{}
	for _, row := range rows[1:] {
		for i, cell := range row[3:] {
			whole, fraction, _ := strings.Cut(cell, ".")
			n, ok := new(big.Int).SetString(whole+(fraction + "000000")[:6], 10)
			if !ok {
				t.Fatalf("cell %q", cell)
			}
			cells[strings.Join(row[:3], "|")+"|"+rows[0][3+i]] = n
		}
	}
	return cells
}

// TestSpendIsReported adds up by hand what was sent, and looks for it in reports that were asked
// for before and after.
func TestSpendIsReported(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	const metrics = "click_cost,impression_cost,install_cost,event_cost,adjust_cost,cost,network_cost,installs," +
		"clicks,daus,paid_clicks"
	// None worth less than a dollar, where a micro of USD is many.
	for _, currency := range []string{"usd", "eur", "kwd"} {
		s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 4, Days: 12})
		before := costCells(t, s, metrics, "&currency="+currency)
		rowsBefore := len(before)
		added := 0
		for i, e := range emutest.Engagements(s, emutest.Noon, 6, 0, 4) {
			n := i*7919 + 12345
			kind := [][2]string{{"cpc", "click_cost"}, {"cpm", "impression_cost"}, {"cpi", "install_cost"},
				{"cpe", "event_cost"}}[i%4]
			typ, metric := kind[0], kind[1]
			amount := fmt.Sprintf("%d.%05d", n/100_000, n%100_000)
			if typ == "cpm" { // a price for a thousand: exact in micros, else rows would round
				amount = fmt.Sprintf("%d.%02d", n/100, n%100)
			}
			if w := emutest.PostCost(s, emutest.Cost(typ, currency, amount, e.CostID, "t"), i%2 == 0); w.Code != 200 {
				t.Fatal(w.Code)
			}
			micros := int64(n) * 10
			if typ == "cpm" {
				micros = int64(n) * 10_000 / 1000
			}
			for _, m := range []string{metric, "adjust_cost", "cost"} {
				k := strings.Join([]string{e.Time.Format(time.DateOnly), e.App, e.Campaign, m}, "|")
				if before[k] == nil {
					t.Fatalf("an engagement of %s, which the report lacks", k)
				}
				before[k].Add(before[k], big.NewInt(micros))
			}
			added++
		}
		if added < 90 {
			t.Errorf("only %d engagements", added)
		}
		after := costCells(t, s, metrics, "&currency="+currency)
		for k, want := range before {
			got := after[k]
			if got == nil {
				t.Errorf("%s is gone", k)
				continue
			}
			if got.Cmp(want) != 0 {
				t.Errorf("%s in %s is %v, want %v micros", k, currency, got, want)
			}
		}
		if len(after) != rowsBefore {
			t.Errorf("%d cells after %d", len(after), rowsBefore)
		}
	}
}

// Where the network's numbers count, a partner's don't; replaced spend moves, and nothing is left
// of it.
func TestSpendModesAndCorrections(t *testing.T) {
	t.Parallel()
	o := emulator.Options{Now: emutest.AtNoon, Apps: 3, Days: 10, DB: filepath.Join(t.TempDir(), "facts.db")}
	s := emutest.Open(t, o)
	base := costCells(t, s, "click_cost,install_cost,cost", "")
	network := costCells(t, s, "cost", "&ad_spend_mode=network")
	e := emutest.Engagements(s, emutest.Noon, 1, 1, 1)[0]
	facts := emutest.CountFacts(t, o.DB)
	key := strings.Join([]string{e.Time.Format(time.DateOnly), e.App, e.Campaign}, "|")
	diff := func(metric string) int64 {
		got := costCells(t, s, "click_cost,install_cost,cost", "")
		return new(big.Int).Sub(got[key+"|"+metric], base[key+"|"+metric]).Int64()
	}
	emutest.PostCost(s, emutest.Cost("cpc", "usd", "2.5", e.CostID, "t"), true)
	if diff("click_cost") != 2_500_000 || diff("cost") != 2_500_000 || diff("install_cost") != 0 {
		t.Errorf("cpc: %d, %d, %d", diff("click_cost"), diff("cost"), diff("install_cost"))
	}
	emutest.PostCost(s, emutest.Cost("cpi", "usd", "3", e.CostID, "t"), true)
	if diff("click_cost") != 0 || diff("cost") != 3_000_000 || diff("install_cost") != 3_000_000 {
		t.Errorf("then cpi: %d, %d, %d", diff("click_cost"), diff("cost"), diff("install_cost"))
	}
	if got := emutest.CountFacts(t, o.DB); got != facts+1 {
		t.Errorf("%d facts, want %d", got, facts+1)
	}
	if got := costCells(t, s, "cost", "&ad_spend_mode=network"); fmt.Sprint(got) != fmt.Sprint(network) {
		t.Error("a partner's spend is in the network's")
	}
	if got := costCells(t, s, "cost", "&sandbox=true"); got[key+"|cost"] != nil && got[key+"|cost"].Sign() != 0 {
		t.Error("a partner's spend is in the sandbox")
	}
}

// spentReport is where the spend of these tests shows.
const spentReport = "csv_report?dimensions=hour,app,campaign,country_code" +
	"&metrics=installs,cost,network_cost,roas_d7,purchase_revenue&date_period=2026-03-08:2026-03-14"

func TestSpendIsKept(t *testing.T) {
	t.Parallel()
	o := emulator.Options{Now: emutest.AtNoon, Seed: 5, Apps: 3, Days: 10, DB: filepath.Join(t.TempDir(), "facts.db"),
		Rate: -1}
	s, stop := emutest.Start(t, o)
	var wg sync.WaitGroup
	for i, e := range emutest.Engagements(s, emutest.Noon, 8, 0, 20) {
		wg.Go(func() {
			for n := range 1 + i%3 { // some twice, some changed
				if w := emutest.PostCost(s, emutest.Cost("cpe", "gbp", fmt.Sprint(n/2), e.CostID, "tag \n\" <&>"),
					true); w.Code != 200 {
					t.Errorf("%d", w.Code)
				}
			}
		})
	}
	wg.Wait()
	emutest.PostCost(s, emutest.Cost("cpi", "usd", "1", "nobodys-cost-id", "t"), true)
	books, records, report := s.Spend(), s.SpendRecords(), emutest.Get(t, s, spentReport, 200)
	if books.Duplicates == 0 || books.Replaced == 0 || books.States["late"] == 0 || books.States["matched"] < 100 ||
		books.States["pending"] != 1 {
		t.Errorf("books %+v: the test shows little", books)
	}
	stop()
	for range 2 {
		s, stop = emutest.Start(t, o)
		if got := s.Spend(); fmt.Sprint(got) != fmt.Sprint(books) {
			t.Errorf("opened again: %+v\nwant %+v", got, books)
		}
		if got := s.SpendRecords(); fmt.Sprint(got) != fmt.Sprint(records) {
			t.Error("opened again: other records")
		}
		if got := emutest.Get(t, s, spentReport, 200); got != report {
			t.Error("opened again: another report")
		}
		stop()
	}
	private := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Seed: 5, Apps: 3, Days: 10})
	if emutest.Get(t, private, spentReport, 200) == report {
		t.Error("spend changes nothing in the report")
	}
}

// A record that was answered 200 is in the file: the process may end at once.
func TestSpendIsKeptBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := emulator.Options{Now: emutest.AtNoon, Seed: 5, Apps: 1, Days: 10, DB: filepath.Join(dir, "facts.db"), Rate: -1}
	s := emutest.Open(t, o)
	for i, e := range emutest.Engagements(s, emutest.Noon, 2, 0, 5) {
		emutest.PostCost(s, emutest.Cost("cpc", "usd", "1", e.CostID, "t"), true)
		// What a killed process leaves: the file and its log of changes, as they are now.
		copied := o
		copied.DB = filepath.Join(dir, fmt.Sprintf("copy%d.db", i))
		for _, end := range []string{"", "-wal"} {
			data, err := os.ReadFile(o.DB + end)
			if err == nil {
				err = os.WriteFile(copied.DB+end, data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		left, stop := emutest.Start(t, copied)
		if got := left.Spend().Records; got != i+1 {
			t.Errorf("%d records are left of %d", got, i+1)
		}
		stop()
	}
}

func TestSpendAdmin(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 10})
	e := emutest.Engagements(s, emutest.Noon, 1, 1, 1)[0]
	for range 2 {
		emutest.PostCost(s, emutest.Cost("cpc", "usd", "0.25", e.CostID, `a "tag"`), true)
	}
	emutest.PostCost(s, url.Values{"cost_id": {"short"}}, true)
	for path, want := range map[string]string{
		"spend": `{"statuses":{"200":2,"400":1},"refused":{"cost_type: missing":1},"faulted":0,"records":1,"duplicates":1,"replaced":0,"too_late":0,` +
			`"states":{"matched":1},"totals":[{"day":"2026-03-13","cost_type":"cpc","cost_currency":"usd","records":1,"amount":"0.25"}]}` + "\n",
		"spend-records": "cost_id,cost_type,cost_currency,cost_amount,tag,state,day,times,replaced\n" +
			e.CostID + `,cpc,usd,0.25,"a ""tag""",matched,2026-03-13,2,0` + "\n",
	} {
		resp, body, err := emutest.Fetch(s.Client(), "http://x/_emulator/"+path, "")
		if err != nil || resp.StatusCode != http.StatusOK || string(body) != want {
			t.Errorf("%s: %s, %v\nwant %s", path, body, err, want)
		}
	}
}

// Spend goes with whom it was paid for through every filter: each row of it is like one of that
// day's, but for numbers.
func TestSpendRowsHaveTwins(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	file := filepath.Join(t.TempDir(), "facts.db")
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 4, Days: 9, DB: file})
	list := emutest.Engagements(s, emutest.Noon, 6, 0, 30)
	for i, e := range list {
		emutest.PostCost(s, emutest.Cost([]string{"cpi", "cpc", "cpm", "cpe"}[i%4], "usd", "1", e.CostID, "t"), true)
	}
	emutest.Get(t, s, "csv_report?dimensions=day&metrics=cost&date_period=-8d:-0d", 200)
	var rows, alone, kinds, sum int
	emutest.Scan(t, file, `SELECT count(*), count(DISTINCT engagement), sum(spend), count(*) FILTER (WHERE NOT EXISTS (
		SELECT * FROM facts o WHERE o.id%1000<200 AND o.id/1000=f.id/1000 AND o.day=f.day AND o.slice=f.slice AND o.ts=f.ts AND o.first_slice=f.first_slice
		AND o.engagement=f.engagement AND o.reattributed=f.reattributed AND o.sandbox=f.sandbox AND o.ad_source=f.ad_source))
		FROM facts f WHERE id%1000>=200`, &rows, &kinds, &sum, &alone)
	if alone != 0 || rows < 300 || kinds != 3 || sum < len(list)/4*3_000_000 {
		t.Errorf("%d rows of spend of %d kinds, %d micros, %d rows without a twin", rows, kinds, sum, alone)
	}
}
