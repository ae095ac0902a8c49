package report_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
)

const (
	silentDims  = "day,app_token,network,os_name"
	silentFacts = "installs,cost,ctr"
	silentWhen  = "date_period=2026-03-08:2026-03-10"
)

// told is the report as a list of lines, header first.
func told(t *testing.T, s *emulator.Server, dims, more string) []string {
	t.Helper()
	a := emutest.Report(t, s, dims, silentFacts, more)
	var out []string
	for _, row := range append([][]string{a.Header}, a.Rows...) {
		out = append(out, strings.Join(row, "|"))
	}
	return out
}

// halved is a line of the report with its cost, whose micros are whole, cut in half.
func halved(t *testing.T, line string) string {
	t.Helper()
	cells := strings.Split(line, "|")
	half := emutest.Exact(t, cells[5]) / 2
	cells[5] = strings.TrimRight(fmt.Sprintf("%d.%06d", half/1_000_000, half%1_000_000), "0")
	if strings.HasSuffix(cells[5], ".") {
		cells[5] += "0"
	}
	return strings.Join(cells, "|")
}

// Each silent fault changes the rows in the way that its name says; the answer stays whole, and the
// totals right.
func TestSilentFaults(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3})
	app := s.Apps()[1].Token
	whole := told(t, s, silentDims, silentWhen)
	totals := told(t, s, "day", silentWhen)
	installs := emutest.Report(t, s, "day", "installs", silentWhen).Sum(t, "installs")
	isX := func(line string) bool { return strings.Contains(line, "|Google Ads ACI|") }
	if len(whole) < 20 || !slices.ContainsFunc(whole, isX) {
		t.Fatalf("%d lines: %q", len(whole), whole)
	}
	// rows makes a list of rows from that of the whole report; n counts the rows from 1, those of
	// network X by itself.
	rows := func(what func(line string, n, x int) []string) []string {
		out, x := whole[:1:1], 0
		for n, line := range whole[1:] {
			if isX(line) {
				x++
			}
			out = append(out, what(line, n+1, x)...)
		}
		return out
	}
	one := func(line string) []string { return []string{line} }
	x := map[string]string{"network": "Google Ads ACI"}
	for name, c := range map[string]struct {
		fault emulator.Fault
		want  []string
	}{
		"every third row dropped": {emulator.Fault{Kind: emulator.FaultDropRows, EveryRow: 3},
			rows(func(line string, n, _ int) []string {
				if n%3 == 0 {
					return nil
				}
				return one(line)
			})},
		"a network dropped": {emulator.Fault{Kind: emulator.FaultDropRows, Where: x},
			rows(func(line string, _, _ int) []string {
				if isX(line) {
					return nil
				}
				return one(line)
			})},
		"a network's second row dropped": {emulator.Fault{Kind: emulator.FaultDropRows, Where: x, EveryRow: 2},
			rows(func(line string, _, x int) []string {
				if isX(line) && x%2 == 0 {
					return nil
				}
				return one(line)
			})},
		"no row has a dimension that isn't asked for": {emulator.Fault{Kind: emulator.FaultDropRows,
			Where: map[string]string{"creative": "x"}}, whole},
		"a network doubled": {emulator.Fault{Kind: emulator.FaultDoubleRows, Where: x},
			rows(func(line string, _, _ int) []string {
				if isX(line) {
					return []string{line, line}
				}
				return one(line)
			})},
		"cost halved": {emulator.Fault{Kind: emulator.FaultHalve, Column: "cost"},
			rows(func(line string, _, _ int) []string { return one(halved(t, line)) })},
		"cost halved in every other row of a network": {emulator.Fault{Kind: emulator.FaultHalve, Column: "cost",
			Where: x, EveryRow: 2}, rows(func(line string, _, x int) []string {
			if isX(line) && x%2 == 0 {
				return one(halved(t, line))
			}
			return one(line)
		})},
		"an unknown metric halved": {emulator.Fault{Kind: emulator.FaultHalve, Column: "clicks"}, whole},
		"a day missing": {emulator.Fault{Kind: emulator.FaultDropDay, Day: "2026-03-09"},
			rows(func(line string, _, _ int) []string {
				if strings.HasPrefix(line, "2026-03-09") {
					return nil
				}
				return one(line)
			})},
		"seven rows":               {emulator.Fault{Kind: emulator.FaultCutRows, Rows: 7}, whole[:8]},
		"more rows than there are": {emulator.Fault{Kind: emulator.FaultCutRows, Rows: 100_000}, whole},
		"an app missing": {emulator.Fault{Kind: emulator.FaultDropApp, App: app},
			rows(func(line string, _, _ int) []string {
				if strings.Contains(line, app) {
					return nil
				}
				return one(line)
			})},
	} {
		c.fault.Every = 1
		s.SetFaults([]emulator.Fault{c.fault})
		if got := told(t, s, silentDims, silentWhen); !slices.Equal(got, c.want) {
			t.Errorf("%s: %d lines, want %d:\n%s", name, len(got), len(c.want), strings.Join(got, "\n"))
		}
		for _, path := range []string{"report", "parquet_report"} {
			body := emutest.Get(t, s, path+"?dimensions="+silentDims+"&metrics="+silentFacts+"&"+silentWhen, 200)
			n := 0
			if path == "report" {
				j := decodeReport(t, body)
				n = len(j.Rows)
				if got := int64(j.Totals["installs"]) * 1_000_000; got != installs {
					t.Errorf("%s: the totals of the JSON report have %d millionths of installs, want %d", name, got,
						installs)
				}
			} else {
				_, _, rows := readParquet(t, []byte(body))
				n = len(rows)
			}
			if n != len(c.want)-1 {
				t.Errorf("%s: %s has %d rows, want %d", name, path, n, len(c.want)-1)
			}
		}
		if got := told(t, s, "day", silentWhen); !slices.Equal(got, totals) {
			t.Errorf("%s: the totals are %q, want %q", name, got, totals)
		}
	}
}

// A silent fault strikes the answers that it is of, and counts no others.
func TestWhichAnswersASilentFaultIsIn(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2})
	const end = "&metrics=installs&date_period=-2d:-1d"
	asks := []string{"csv_report?dimensions=day" + end, "csv_report?dimensions=day,app" + end, "events",
		"csv_report?dimensions=currency,month" + end, "csv_report?dimensions=app,day" + end} // of 2, 4, 0, 1 and 4 rows
	for _, c := range []struct {
		fault emulator.Fault
		want  string
	}{
		{emulator.Fault{}, "21014"},
		{emulator.Fault{Nth: 2}, "24011"},
		{emulator.Fault{Every: 1}, "21011"},
		{emulator.Fault{Every: 1, Of: emulator.OfRows}, "21011"},
		{emulator.Fault{Every: 1, Of: emulator.OfTotals}, "14014"},
		{emulator.Fault{Nth: 2, Of: emulator.OfTotals}, "24014"},
		{emulator.Fault{Every: 1, Of: emulator.OfAny}, "11011"},
		{emulator.Fault{Every: 1, Of: emulator.OfAny, Query: "dimensions=day&"}, "14014"},
	} {
		c.fault.Kind, c.fault.Rows = emulator.FaultCutRows, 1
		s.SetFaults([]emulator.Fault{c.fault})
		got := ""
		for _, ask := range asks {
			body := emutest.Get(t, s, ask, 200)
			got += strconv.Itoa(max(strings.Count(body, "\n")-1, 0))
		}
		if got != c.want {
			t.Errorf("%+v: %s rows, want %s", c.fault, got, c.want)
		}
	}
}

// An app that is left out is there for those who name it, and an answer that loses its last row has
// none.
func TestSilentFaultsToTheLastRow(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2})
	app := s.Apps()[0].Token
	const ask = "csv_report?dimensions=app_token&metrics=installs&date_period=-2d:-1d"
	for _, c := range []struct {
		fault emulator.Fault
		more  string
		lines int // 0: 204
	}{
		{emulator.Fault{Kind: emulator.FaultDropApp, App: app}, "&app_token__in=x,+" + app, 2},
		{emulator.Fault{Kind: emulator.FaultDropApp, App: app}, "&app_token__contains=" + app, 0},
		{emulator.Fault{Kind: emulator.FaultDropApp, App: "nobody's"}, "", 3},
		{emulator.Fault{Kind: emulator.FaultCutRows}, "", 0},
		{emulator.Fault{Kind: emulator.FaultDropRows}, "", 0},
		{emulator.Fault{Kind: emulator.FaultDropRows, EveryRow: 2}, "", 2},
	} {
		s.SetFaults([]emulator.Fault{c.fault})
		w := emutest.Ask(s, ask+c.more)
		if lines := strings.Count(w.Body.String(), "\n"); lines != c.lines || (w.Code == 204) != (lines == 0) {
			t.Errorf("%+v %s: status %d, %d lines, want %d", c.fault, c.more, w.Code, lines, c.lines)
		}
	}
}

func TestSilentFaultsInBulk(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Bulk: 20})
	whole := told(t, s, silentDims, silentWhen)
	if len(whole) != 21 {
		t.Fatalf("%d lines", len(whole))
	}
	network := strings.Split(whole[3], "|")[2]
	for _, c := range []struct {
		fault emulator.Fault
		lines int
	}{
		{emulator.Fault{Kind: emulator.FaultDropRows, EveryRow: 3}, 15},
		{emulator.Fault{Kind: emulator.FaultDoubleRows, EveryRow: 2}, 31},
		{emulator.Fault{Kind: emulator.FaultCutRows, Rows: 5}, 6},
		{emulator.Fault{Kind: emulator.FaultDropDay, Day: "2026-03-08"}, 14},
		{emulator.Fault{Kind: emulator.FaultDropRows, Where: map[string]string{"network": network}},
			21 - strings.Count(strings.Join(whole, "\n"), "|"+network+"|")},
		{emulator.Fault{Kind: emulator.FaultHalve, Column: "cost"}, 21},
	} {
		s.SetFaults([]emulator.Fault{c.fault})
		got := told(t, s, silentDims, silentWhen)
		if len(got) != c.lines {
			t.Errorf("%+v: %d lines, want %d", c.fault, len(got), c.lines)
		}
		if c.fault.Kind == emulator.FaultHalve && got[20] != halved(t, whole[20]) {
			t.Errorf("half of %s is %s", whole[20], got[20])
		}
	}
	s.SetFaults([]emulator.Fault{{Kind: emulator.FaultDropApp, App: s.Apps()[0].Token}})
	if got := strings.Join(told(t, s, silentDims, silentWhen), "\n"); strings.Contains(got, s.Apps()[0].Token) {
		t.Errorf("the app that is to be missing is in\n%s", got)
	}
}

func TestSilentFaultsThatMeanNothing(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]emulator.Fault{
		`of "all" is not rows, totals or any`:          {Kind: emulator.FaultHalve, Of: "all"},
		`day "" is not of the form YYYY-MM-DD`:         {Kind: emulator.FaultDropDay},
		`day "9 May" is not of the form YYYY-MM-DD`:    {Kind: emulator.FaultDropDay, Day: "9 May"},
		`app is missing`:                               {Kind: emulator.FaultDropApp},
		`where and every_row mean nothing to cut_rows`: {Kind: emulator.FaultCutRows, EveryRow: 2},
		`where and every_row mean nothing to drop_day`: {Kind: emulator.FaultDropDay,
			Day: "2026-03-09", Where: map[string]string{"app": "x"}},
		`of, where, every_row, rows, day and app mean nothing to reset`: {Kind: emulator.FaultReset,
			Of: emulator.OfAny},
		`numbers of a fault can't be negative`: {Kind: emulator.FaultCutRows, Rows: -1},
	} {
		if err := f.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", f, err, want)
		}
	}
}
