package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/civil"
	"pgregory.net/rapid"

	"github.com/reportferry/reportferry/sinks"
)

func drawEntry(t *rapid.T) Record {
	text := rapid.StringMatching(`[ -~]{0,12}`)
	if rapid.IntRange(0, 3).Draw(t, "language") == 0 {
		text = rapid.String()
	}
	e := Record{
		Partition: date("2026-01-01").AddDays(rapid.IntRange(-700_000, 2_000_000).Draw(t, "day")),
		Seq:       rapid.Int().Draw(t, "seq"), Run: text.Draw(t, "run"), Rows: rapid.Int64().Draw(t, "rows"),
		Fetched: time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC(),
		State:   State(text.Draw(t, "state")), Cause: text.Draw(t, "cause"), Hash: text.Draw(t, "hash"),
		Shape: text.Draw(t, "shape"),
		Sums:  rapid.MapOfN(text, text, 0, 20).Draw(t, "sums"),
	}
	for range rapid.IntRange(0, 3).Draw(t, "receipts") {
		e.Receipts = append(e.Receipts, sinks.Receipt{Sink: text.Draw(t, "sink"), Key: text.Draw(t, "key"),
			Size:  rapid.Int64().Draw(t, "size"),
			Store: text.Draw(t, "store"), Version: text.Draw(t, "version")})
	}
	if rapid.Bool().Draw(t, "newer") {
		e.Reason, e.Finality, e.Moved = text.Draw(t, "reason"), text.Draw(t, "finality"), rapid.Bool().Draw(t, "moved")
		e.Since = time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "since"), 0).UTC()
		e.Control = &Control{State: ControlState(text.Draw(t, "control")), Why: text.Draw(t, "why")}
		for range rapid.IntRange(0, 2).Draw(t, "differences") {
			e.Control.Differences = append(e.Control.Differences, Difference{
				Metric: text.Draw(t, "metric"), Rows: text.Draw(t, "of rows"), Total: text.Draw(t, "total"),
				Where: text.Draw(t, "where"),
			})
			e.Raw = append(e.Raw, text.Draw(t, "raw"))
		}
	}
	return e
}

// The fast reader of records gives what encoding/json gives, or nothing.
func TestDecodeEntriesAsEncodingJSONDoes(t *testing.T) {
	fast, all, faults := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		var list []Record
		for range rapid.IntRange(0, 4).Draw(t, "entries") {
			list = append(list, drawEntry(t))
		}
		raw, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		broken := rapid.Bool().Draw(t, "broken")
		if broken && len(raw) > 0 {
			at := rapid.IntRange(0, len(raw)-1).Draw(t, "at")
			raw = append(raw[:at:at], append([]byte(rapid.StringMatching(`["\\{}\[\]:,0-9a-z -]{0,2}`).Draw(t, "put")),
				raw[at+1:]...)...)
		}
		var want []Record
		wantErr := json.Unmarshal(raw, &want)
		got, ok := decodeEntries(string(raw))
		all++
		if wantErr != nil {
			faults++
		}
		if !ok {
			return
		}
		fast++
		if wantErr != nil {
			t.Fatalf("read %s, which is wrong: %v", raw, wantErr)
		}
		for _, list := range [][]Record{got, want} {
			for i := range list {
				if len(list[i].Sums) == 0 {
					list[i].Sums = nil
				}
			}
		}
		if len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("read %s as\n%+v, want\n%+v", raw, got, want)
		}
	})
	// A fifth is read fast: of the few of a short run there may be none.
	if enough := all >= 100; enough && (fast == 0 || faults == 0) {
		t.Errorf("of %d, %d were read fast and %d were wrong", all, fast, faults)
	}
}

// Whatever a record holds is read fast: a field that is added to it must be added there.
func TestDecodeEntriesKnowsAllFields(t *testing.T) {
	e := typical("shape")
	e.Cause, e.Seq, e.After = `"none" & <nothing>`, 7, 5
	e.Reason, e.Since, e.Finality, e.Moved, e.Raw = "lookback", e.Fetched.Add(-time.Hour), "final", true,
		[]string{"a.csv.zst", "b.csv.zst"}
	e.Control = &Control{Unreconciled, "why", []Difference{{"cost", "69.96", "211.12", "app_token abc123", OfCohort}},
		map[string]string{"ecpi_all": "1.25"}}
	e.Scope, e.Asked, e.Same = "scope", 5, 2
	e.Accepted = &Acceptance{e.Fetched, "a day without ads", true}
	e.HeldBack = &HeldBack{"why", "run", e.Fetched, e.Since, 2, 7, map[string]string{"cost": "1.5"}, e.Accepted}
	for v, i := reflect.ValueOf(e), 0; i < v.NumField(); i++ {
		if v.Field(i).IsZero() && v.Type().Field(i).Tag.Get("json") != "-" {
			t.Errorf("the test's record lacks %s", v.Type().Field(i).Name)
		}
	}
	for v, i := reflect.ValueOf(e.Receipts[0]), 0; i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Errorf("the test's receipt lacks %s", v.Type().Field(i).Name)
		}
	}
	for _, of := range []any{*e.Control, e.Control.Differences[0], *e.HeldBack, *e.Accepted} {
		for v, i := reflect.ValueOf(of), 0; i < v.NumField(); i++ {
			if v.Field(i).IsZero() {
				t.Errorf("the test's %T lacks %s", of, v.Type().Field(i).Name)
			}
		}
	}
	raw, err := json.Marshal([]Record{e, e})
	check(t, err)
	if got, ok := decodeEntries(string(raw)); !ok || !reflect.DeepEqual(got, []Record{e, e}) {
		t.Errorf("read %v %+v", ok, got)
	}
}

// What encoding/json reads in another way, or refuses, is left to it.
func TestDecodeEntriesLeavesOddTexts(t *testing.T) {
	for _, odd := range []string{
		"[{\"run\":\"\xff\"}]", "[{\"run\":\"\x01\"}]", "[{\"run\":\"\n\"}]", `[{"run":"\x"}]`, `[{"run":"a}]`,
		`[{"seq":01}]`, `[{"seq":-0}]`, `[{"seq":-}]`, `[{"seq":1e3}]`, `[{"seq":99999999999999999999}]`,
		`[{"seq":"1"}]`,
		`[{"partition":"2026-02-30"}]`, `[{"fetched":"2026-02-01"}]`, `[{"seq":1,}]`, `[{"seq":1}`, `[{"seq":1}],`,
		`[ ]`, ``, `{}`,
		`null`, `[null]`, `[{"Seq":1}]`,
	} {
		if got, ok := decodeEntries(odd); ok {
			t.Errorf("%q was read as %+v", odd, got)
		}
	}
}

// typical is a record as large as a report of a dozen metrics makes it.
func typical(shape string) Record {
	day := date("2016-01-01")
	e := Record{
		Partition: day, Run: "20260110T043000Z-1f2e3d4c", State: Written, Rows: 18231, Hash: "5f1c9a7e3b2d4f60-18231",
		Fetched: day.AddDays(100).In(time.UTC), Shape: shape, Sums: map[string]string{},
		Receipts: []sinks.Receipt{{Sink: "gs://warehouse/reports",
			Key: "campaigns_daily/dt=" + day.String() + "/part-0.parquet", Size: 482113,
			Store: "gs://warehouse/reports", Version: "1764460800123456"}},
	}
	for i := range 10 {
		e.Sums[fmt.Sprintf("metric_number_%d", i)] = "1234567.890123"
	}
	return e
}

// What encoding/json has written of a month is read as encoding/json reads it, and a field that
// isn't known is refused.
func TestAMonthIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := month{section: section{Leases: map[civil.Date]lease{}}, Derived: map[string]*section{"_states": {}},
			Shapes: map[string]Shape{rapid.String().Draw(t, "id"): {Fingerprint: map[string]string{"currency": "USD"},
				Columns: []Column{{Name: "day", Type: "day"}}}}}
		for range rapid.IntRange(0, 4).Draw(t, "records") {
			e := drawEntry(t)
			m.Records, m.History = append(m.Records, e), append(m.History, e)
			m.Derived["_states"].Records = append(m.Derived["_states"].Records, e)
			m.Leases[e.Partition] = lease{Token: e.Run, Until: e.Fetched, Doubt: e.Moved}
		}
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var want month
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		if got, err := parse[month](raw); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("read %s as\n%+v (%v), want\n%+v", raw, got, err, want)
		}
		at := bytes.IndexByte(raw, '{') + 1
		for _, odd := range []string{`"unknown":1,`, `"records":"1",`, `"records":[{"seq":"1"}],`,
			`"records":[{"unknown":1}],`} {
			if got, err := parse[month](slices.Concat(raw[:at], []byte(odd), raw[at:])); err == nil {
				t.Fatalf("%s was read as %+v", odd, got)
			}
		}
	})
}

// So is what it has written of an index, which is read fast unless a month of it has leases.
func TestAnIndexIsReadAsItWasWritten(t *testing.T) {
	fast, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		i := index{Months: map[string]indexedMonth{},
			Shapes: map[string]Shape{"shape": {Fingerprint: map[string]string{"currency": "USD"}}},
			Scopes: map[string]Scope{"scope": {Apps: []string{"a"}}}}
		for n := range rapid.IntRange(0, 3).Draw(t, "months") {
			m := indexedMonth{Version: rapid.String().Draw(t, "version"), section: section{Records: records{}}}
			if rapid.Bool().Draw(t, "derived") {
				m.Oldest = time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "oldest"), 0).UTC()
				m.Derived = map[string]*section{"_states": {Records: records{drawEntry(t)}},
					"_others": {Records: records{}}}
			}
			for range rapid.IntRange(0, 3).Draw(t, "records") {
				m.Records = append(m.Records, drawEntry(t))
			}
			if rapid.IntRange(0, 9).Draw(t, "leased") == 0 {
				m.Leases = map[civil.Date]lease{date("2026-01-01"): {Token: "token"}}
			}
			i.Months[fmt.Sprintf("2026-%02d", n+1)] = m
		}
		raw, err := json.Marshal(i)
		if err != nil {
			t.Fatal(err)
		}
		var want, direct index
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		if all++; direct.decode(string(raw)) {
			fast++
		}
		if got, err := parse[index](raw); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("read %s as\n%+v (%v), want\n%+v", raw, got, err, want)
		}
		at := bytes.IndexByte(raw, '{') + 1
		for _, odd := range []string{`"unknown":1,`, `"months":"1",`, `"months":{"2026-01":{"records":1}},`,
			`"shapes":1,`} {
			if got, err := parse[index](slices.Concat(raw[:at], []byte(odd), raw[at:])); err == nil {
				t.Fatalf("%s was read as %+v", odd, got)
			}
		}
		cut := rapid.IntRange(0, len(raw)-1).Draw(t, "cut")
		if got, err := parse[index](raw[:cut]); err == nil && cut > 0 {
			t.Fatalf("%s was read as %+v", raw[:cut], got)
		}
	})
	if all >= 100 && fast < all/5 {
		t.Errorf("%d of %d were read fast", fast, all)
	}
}
