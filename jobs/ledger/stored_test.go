package ledger

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

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

// What encoding/json has written of records is read as encoding/json reads it, and what is broken is never read as something else.
func TestRecordsAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := []Record{}
		for range rapid.IntRange(0, 4).Draw(t, "entries") {
			list = append(list, drawEntry(t))
		}
		raw, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "broken") {
			at := rapid.IntRange(0, len(raw)-1).Draw(t, "at")
			raw = append(raw[:at:at], append([]byte(rapid.StringMatching(`["\\{}\[\]:,0-9a-z -]{0,2}`).Draw(t, "put")), raw[at+1:]...)...)
		}
		var want []Record
		faulty := json.Unmarshal(raw, &want)
		got, err := parse[[]Record](raw)
		if err == nil && (faulty != nil || !reflect.DeepEqual(got, want)) {
			t.Fatalf("read %s as\n%+v, want\n%+v, %v", raw, got, want, faulty)
		}
		if again, sane := json.Marshal(want); err != nil && faulty == nil && sane == nil && bytes.Equal(again, raw) {
			t.Fatalf("refused %s: %v", raw, err)
		}
	})
}
