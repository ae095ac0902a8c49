package ledger

import (
	"bytes"
	"encoding/json"
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
		e.Receipts = append(e.Receipts, sinks.Receipt{Sink: text.Draw(t, "sink"), Key: text.Draw(t, "key"), Size: rapid.Int64().Draw(t, "size"),
			Store: text.Draw(t, "store"), Version: text.Draw(t, "version")})
	}
	if rapid.Bool().Draw(t, "newer") {
		e.Reason, e.Finality, e.Moved = text.Draw(t, "reason"), text.Draw(t, "finality"), rapid.Bool().Draw(t, "moved")
		e.Since = time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "since"), 0).UTC()
		e.Control = &Control{State: ControlState(text.Draw(t, "control")), Why: text.Draw(t, "why")}
		for range rapid.IntRange(0, 2).Draw(t, "differences") {
			e.Control.Differences = append(e.Control.Differences, Difference{
				Metric: text.Draw(t, "metric"), Rows: text.Draw(t, "of rows"), Total: text.Draw(t, "total"), Where: text.Draw(t, "where"),
			})
			e.Raw = append(e.Raw, text.Draw(t, "raw"))
		}
	}
	return e
}

// What encoding/json has written of a month is read as encoding/json reads it, and a field that isn't known is refused.
func TestAMonthIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := month{Leases: map[civil.Date]lease{}, Shapes: map[string]Shape{rapid.String().Draw(t, "id"): {Fingerprint: map[string]string{"currency": "USD"}, Columns: []Column{{Name: "day", Type: "day"}}}}}
		for range rapid.IntRange(0, 4).Draw(t, "records") {
			e := drawEntry(t)
			m.Records, m.History = append(m.Records, e), append(m.History, e)
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
		for _, odd := range []string{`"unknown":1,`, `"records":"1",`, `"records":[{"seq":"1"}],`, `"records":[{"unknown":1}],`} {
			if got, err := parse[month](slices.Concat(raw[:at], []byte(odd), raw[at:])); err == nil {
				t.Fatalf("%s was read as %+v", odd, got)
			}
		}
	})
}
