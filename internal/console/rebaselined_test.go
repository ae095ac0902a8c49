package console

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/status"
)

// rebaselined is a console of a table of days whose numbers were in USD. This night January 9 to 11
// were replaced by others in EUR, and the days before weren't yet. Then a number of January 11 has
// moved, or hasn't.
func rebaselined(t *testing.T, moved bool) *Console {
	t.Helper()
	l := ledger.Open(ledger.Options{Store: bucket.NewMemory(), URL: "mem://"})
	t.Cleanup(func() { _ = l.Close() })
	table, err := l.Table(t.Context(), "rebaselined")
	if err != nil {
		t.Fatal(err)
	}
	shapes := map[string]ledger.Shape{}
	for _, currency := range []string{"USD", "EUR"} {
		shapes[currency] = ledger.Shape{Fingerprint: map[string]string{"currency": currency},
			Columns: []ledger.Column{{Name: "cost", Type: "money"}}}
		if err := table.SaveShape(t.Context(), shapes[currency]); err != nil {
			t.Fatal(err)
		}
	}
	put := func(day, hours int, currency, cost string) {
		e := ledger.Record{
			Partition: at(day).Partition, Run: nightRun, Fetched: noon.Add(time.Duration(-hours) * time.Hour),
			Reason: "rebaseline", State: ledger.Written, Rows: 10,
			Hash: currency + cost, Shape: shapes[currency].ID(), Sums: map[string]string{"cost": cost},
			Finality: refresh.Final,
		}
		if err := table.Commit(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	for day := 6; day <= 11; day++ {
		put(day, 40, "USD", "100")
	}
	put(11, 39, "USD", "101")
	for day := 9; day <= 11; day++ {
		put(day, 8, "EUR", "85")
	}
	if moved {
		put(11, 2, "EUR", "86")
	}
	rules := refresh.Rules{Page: 7, Start: at(6).Partition, Location: time.UTC,
		Stale: map[string]ledger.Stale{shapes["USD"].ID(): {Rebased: true}}}
	j := looks("rebaselined", TableState{Inspection: status.Inspect(noon, "rebaselined", "report", rules,
		table.Records(), ledger.Past{})}, nil)
	return New(Options{Ledger: l, Jobs: []Job{j}, Now: func() time.Time { return noon }})
}

// Numbers of different meanings aren't compared on any page, and each says so in the words of the
// command changes.
func TestNumbersOfAnotherMeaning(t *testing.T) {
	c := rebaselined(t, true)
	for path, wants := range map[string][]string{
		"overnight.html": {"3 periods rebaselined, USD -&gt; EUR, not compared",
			"<td class=\"num fixed\">85</td><td class=\"num fixed\">86</td>", "!100"},
		"jobs/rebaselined/index.html": {"3 periods rebaselined, USD -&gt; EUR, not compared",
			"85<small>not compared</small>", "between 0 and 86; 0 with another number than a day ago",
			"3 without a number, or with one of another meaning", "!was 100"},
		"jobs/rebaselined/numbers/cost.html": {"3 periods rebaselined, USD -&gt; EUR, not compared",
			"<td>86<td>not compared", "<td data-other>100<td><td>other meaning"},
		"jobs/rebaselined/2026-01-11.html": {"USD -&gt; EUR, not compared",
			`<span title="101">101</span><small class="why">&#43;1</small>`,
			`<span title="86">86</span><small class="why">&#43;1</small>`, "!-16", "!-15"},
		"jobs/rebaselined/2026-01-08.html": {"3 partitions whose numbers", "other meaning",
			"run rebaselined --rebaseline --now", "!not compared", "!backfill"},
		"jobs/rebaselined/numbers/rows.html": {"not compared"},
		"jobs/rebaselined/2026-01-09.html":   {"USD -&gt; EUR, not compared"},
		"problems.html":                      {"3 partitions whose numbers mean something else"},
	} {
		page, err := c.render(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if text, without := strings.CutPrefix(want, "!"); strings.Contains(string(page), text) == without {
				t.Errorf("%s: want %q in\n%s", path, want, page)
			}
		}
	}
}

// A night that brought nothing but other meanings isn't one in which nothing moved.
func TestNothingButAnotherMeaning(t *testing.T) {
	page, err := rebaselined(t, false).render(t.Context(), "overnight.html")
	if err != nil || !strings.Contains(string(page), "3 periods rebaselined") ||
		strings.Contains(string(page), "Nothing moved") {
		t.Errorf("%v\n%s", err, page)
	}
}

// The headline and the count beside Problems are what package status finds wrong, and every page
// has the same count.
func TestHeadlineAndCount(t *testing.T) {
	made, odd := madeUp(t), rebaselined(t, false)
	calm := TableState{Inspection: refresh.Inspection{Fresh: refresh.Freshness{Success: &noon},
		Calendar: []refresh.Entry{{Partition: at(2).Partition, Condition: refresh.ChangedFinal, Record: at(2)}}}}
	for _, c := range []*Console{sample(t), sample(t, looks("calm", calm, nil), looks("calm_too", calm, nil)),
		sample(t, made.o.Jobs[0], looks("calm", calm, nil), made.o.Jobs[3]), odd} {
		problems, tables, never := 0, 0, 0
		for _, s := range c.See(t.Context(), 0) {
			n := len(slices.DeleteFunc(slices.Clone(s.State.Problems), func(p ledger.Problem) bool { return !p.Wrong }))
			problems += n
			switch {
			case s.State.Fresh.Success == nil:
				never++
			case n == 0:
				tables++
			}
		}
		want := fmt.Sprintf(`<p class="headline">%d fresh, `, tables)
		if never > 0 {
			want += fmt.Sprintf("%d never run, ", never)
		}
		want += `<a href="problems.html">` + plural(problems, "problem") + "</a></p>"
		for _, p := range pages {
			list := []vars{nil}
			if p.each != nil {
				list = p.each(c, t.Context())
			}
			for _, names := range list {
				page, err := c.page(t.Context(), p.path(names), true)
				if err != nil || !strings.Contains(string(page), fmt.Sprintf(">Problems (%d)</a>", problems)) ||
					strings.Contains(string(page), `"headline"`) && !strings.Contains(string(page), want) {
					t.Errorf("%s: %v; want the count %d and %s in\n%s", p.path(names), err, problems, want, page)
				}
			}
		}
		overview, err := c.render(t.Context(), "index.html")
		if err != nil || !strings.Contains(string(overview), want) {
			t.Errorf("%v: want %s in\n%s", err, want, overview)
		}
		list, err := c.render(t.Context(), "problems.html")
		if needs, _, _ := strings.Cut(string(list), "Good to know"); err != nil ||
			strings.Count(needs, "<li>") != problems {
			t.Errorf("%v: want %d problems in\n%s", err, problems, list)
		}
	}
}

var times = regexp.MustCompile(`<time datetime="([^"]*)" title="[^"]* UTC">([^<]*)</time>`)

// Every page says one zone, that of the schedules or UTC when they differ, and every time on it is
// in that zone.
func TestOneZone(t *testing.T) {
	berlin, tokyo := time.FixedZone("Europe/Berlin", 3600), time.FixedZone("Asia/Tokyo", 9*3600)
	for want, zones := range map[*time.Location][]*time.Location{
		berlin: {berlin, nil, berlin, berlin}, tokyo: {nil, nil, tokyo, nil}, time.UTC: {berlin, berlin, tokyo, nil},
		time.FixedZone("UTC", 0): {nil, nil, nil, nil},
	} {
		c := madeUp(t)
		for i, zone := range zones {
			c.o.Jobs[i].Zone = zone
		}
		n := 0
		for path, page := range everyPage(t, New(c.o)) {
			if !strings.Contains(page, ">Times are in "+want.String()+"</p>") {
				t.Errorf("%s doesn't say that its times are in %v", path, want)
			}
			for _, found := range times.FindAllStringSubmatch(page, -1) {
				at, err := time.Parse(time.RFC3339, found[1])
				if n++; err != nil || at.In(want).Format("2006-01-02 15:04") != found[2] {
					t.Errorf("%s: %s is shown as %s, not in %v", path, found[1], found[2], want)
				}
			}
		}
		if n < 20 {
			t.Errorf("%d times", n)
		}
	}
}
