package simulation

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"
	"github.com/cespare/xxhash/v2"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
)

// firstDay is the first partition: two days before the end of a month, three before that of a cell
// of seven days, and not at the border of one of thirty.
var firstDay = civil.Date{Year: 2025, Month: time.October, Day: 30}

const mostDays = 7

// An account is what the service says of the first days on one day after the other, as it restates
// them.
type account struct {
	rows [][mostDays]string // by how often it has restated them, and by day
}

// askAccount asks the emulator, whose network spend is restated every night.
func askAccount(t *testing.T) *account {
	t.Helper()
	server, err := emulator.New(emutest.With(emulator.Options{Apps: 2, Days: 30,
		Now: func() time.Time { return epoch.AddDate(0, 0, -2) }}))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close() //nolint:errcheck // it has answered
	a := &account{}
	for range 12 {
		var rows [mostDays]string
		for day := range mostDays {
			rows[day] = ask(t, server, firstDay.AddDays(day))
		}
		if n := len(a.rows); n == 0 || allDiffer(a.rows, rows) {
			a.rows = append(a.rows, rows)
		}
		server.Shift(24 * time.Hour)
	}
	if len(a.rows) < 4 {
		t.Fatalf("the emulator has restated all days only %d times", len(a.rows)-1)
	}
	return a
}

func allDiffer(before [][mostDays]string, rows [mostDays]string) bool {
	for day, text := range rows {
		if slices.ContainsFunc(before, func(b [mostDays]string) bool { return b[day] == text }) {
			return false
		}
	}
	return true
}

func ask(t *testing.T, server *emulator.Server, day civil.Date) string {
	t.Helper()
	v := url.Values{
		"dimensions": {"day,network"}, "metrics": {"installs,network_cost"}, "ad_spend_mode": {"network"},
		"date_period": {day.String() + ":" + day.String()}, "currency": {"USD"}, "utc_offset": {"+00:00"},
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		"http://service/reports-service/csv_report?"+v.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer truth")
	res, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close() //nolint:errcheck // it is read whole
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("ask the emulator: %s %s %v", res.Status, data, err)
	}
	return string(data)
}

// A truth is what the service answers now, and has answered before.
type truth struct {
	world *world
	data  *account
	days  [][]answer // by day, its restatements: the number is the index
}

// An answer is what the service says of one day.
type answer struct {
	day         civil.Date
	restatement int
	told        int // of the account's; -1: no rows
	rows        int64
	data        []byte // of the file that it becomes
	hash        string
}

func newTruth(w *world, data *account) *truth {
	tr := &truth{world: w, data: data, days: make([][]answer, w.fate.days)}
	for day := range tr.days {
		told := 0
		if w.chance(w.fate.emptied / 4) {
			told = -1
		}
		tr.add(day, told)
	}
	return tr
}

// add restates a day. The file says how often it was restated, unless the same numbers may come
// again in this world.
func (tr *truth) add(day, told int) {
	n := len(tr.days[day])
	a := answer{day: firstDay.AddDays(day), restatement: n, told: told}
	label, rows := "-", ""
	if told >= 0 {
		rows = tr.data.rows[told][day]
		if label = fmt.Sprint(n); tr.world.fate.returned > 0 {
			label = fmt.Sprint("as told ", told)
		}
		all, err := csv.NewReader(strings.NewReader(rows)).ReadAll()
		if err != nil {
			panic(err)
		}
		a.rows = int64(len(all) - 1)
	}
	a.data = fmt.Appendf(nil, "day %s restatement %s\n%send\n", a.day, label, rows)
	a.hash = fmt.Sprintf("%016x", xxhash.Sum64(a.data))
	tr.days[day] = append(tr.days[day], a)
}

// restate changes what the service says of some days.
func (tr *truth) restate() {
	w := tr.world
	for day := range tr.days {
		if w.chance(0.4) {
			continue
		}
		before := tr.days[day]
		told := before[len(before)-1].told + 1
		switch {
		case w.chance(w.fate.emptied):
			told = -1
		case w.chance(w.fate.returned) && len(before) > 1:
			told = before[len(before)-2].told
		}
		if told >= len(tr.data.rows) {
			told = 0
		}
		tr.add(day, told)
		w.stats.restatements++
		w.note("%s is restated: %d, as told %d", firstDay.AddDays(day), len(before), told)
	}
}

// answer is what the service says now.
func (tr *truth) answer() []answer {
	var now []answer
	for _, told := range tr.days {
		now = append(now, told[len(told)-1])
	}
	return now
}

func (tr *truth) now(day int) answer { return tr.days[day][len(tr.days[day])-1] }

// content is what a file says, without the line that makes it another one.
func content(file []byte) []byte {
	_, data, _ := bytes.Cut(file, []byte("\n"))
	return data
}

// newest is the newest restatement of a day that a file is of; false when it is of none, such as
// half a file.
func (tr *truth) newest(day int, file []byte) (int, bool) {
	data := content(file)
	for n := len(tr.days[day]) - 1; n >= 0; n-- {
		if bytes.Equal(tr.days[day][n].data, data) {
			return n, true
		}
	}
	return 0, false
}

// oldest is the oldest restatement that a file may be of, not counting those before one.
func (tr *truth) oldest(day int, file []byte, from int) int {
	for n := max(0, from); n < len(tr.days[day]); n++ {
		if bytes.Equal(tr.days[day][n].data, content(file)) {
			return n
		}
	}
	return from
}
