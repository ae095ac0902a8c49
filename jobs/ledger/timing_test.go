package ledger

import (
	"fmt"
	"reflect"
	"testing"
	"time"
)

// Of a run with many units those that failed are kept, and then the longest ones, over all jobs.
// The others are counted.
func TestTrimTimings(t *testing.T) {
	began := time.Date(2026, 1, 12, 4, 30, 0, 0, time.UTC)
	long, short := Result{Job: "long"}, Result{Job: "short"}
	for i := range MostTimings {
		at := began.Add(time.Duration(i) * time.Second)
		long.Timings = append(long.Timings, TimingOf(fmt.Sprint("long", i), at, time.Minute+time.Duration(i),
			Outcome{}))
		short.Timings = append(short.Timings, TimingOf(fmt.Sprint("short", i), at, time.Millisecond, Outcome{}))
	}
	short.Timings[7].Failed = true
	results := []Result{long, short}
	TrimTimings(results)
	if n := len(results[0].Timings); n != MostTimings-1 || results[0].TimingsLeftOut != 1 ||
		results[0].Timings[0].Unit != "long1" {
		t.Errorf("of the long job %d units are kept from %q on, and %d not", n, results[0].Timings[0].Unit,
			results[0].TimingsLeftOut)
	}
	if n := len(results[1].Timings); n != 1 || !results[1].Timings[0].Failed ||
		results[1].TimingsLeftOut != MostTimings-1 {
		t.Errorf("of the short job %d units are kept, and %d not", n, results[1].TimingsLeftOut)
	}
	few := []Result{{Timings: []Timing{{Unit: "b", Begun: began.Add(1)}, {Unit: "a", Begun: began}}}}
	TrimTimings(few)
	if few[0].TimingsLeftOut != 0 || few[0].Timings[0].Unit != "a" {
		t.Errorf("few units: %+v", few)
	}
}

// A run's record has its units' times.
func TestTimingsAreRecorded(t *testing.T) {
	began := time.Date(2026, 1, 12, 4, 30, 0, 0, time.UTC)
	want := Timing{
		Unit: "2026-01-05", Begun: began, Took: 9 * time.Second, Limiter: 1, Backoff: 2, Convert: 3, Put: 4,
		Requests: 5, Retries: 6, Failed: true, Stopped: true,
	}
	raw, err := marshal(Run{ID: "a", Started: began, Results: []Result{{Job: "daily", Timings: []Timing{want},
		TimingsLeftOut: 3}}})
	check(t, err)
	got, err := parse[Run](raw)
	check(t, err)
	if r := got.Results[0]; !reflect.DeepEqual(r.Timings, []Timing{want}) || r.TimingsLeftOut != 3 {
		t.Errorf("read %+v", r)
	}
	sum := Outcome{Convert: 1, Put: 2}
	sum.Add(Outcome{Convert: 10, Put: 20})
	if sum.Convert != 11 || sum.Put != 22 {
		t.Errorf("the sum is %+v", sum)
	}
}
