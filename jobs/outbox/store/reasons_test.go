package store

import (
	"fmt"
	"reflect"
	"testing"
)

// Reasons are counted, those of the service beside those of the first reading, and those with most
// rows come first.
func TestReasons(t *testing.T) {
	p := Push{
		States: &States{},
		Head:   Head{Refusals: []Reason{{"amount", "isn't a number", 3}, {"", "too old", 1}}},
		Words:  map[int64]Words{7: {"", "unknown app"}, 9: {"", "unknown app"}, 11: {"amount", "isn't a number"}},
	}
	want := []Reason{{"amount", "isn't a number", 4}, {"", "unknown app", 2}, {"", "too old", 1}}
	p.sumUp()
	if got := p.Head.Reasons; !reflect.DeepEqual(got, want) {
		t.Errorf("reasons: %+v", got)
	}
}

// However many reasons there are, few are kept, and no row is lost of the count.
func TestReasonsAreBounded(t *testing.T) {
	tally := ReasonCounts{}
	for i := range 5000 {
		tally.Add(Words{"tag", fmt.Sprint("is wrong: ", i)})
		tally.Add(Words{"", "too old"})
	}
	list := tally.List()
	var rows int64
	for _, r := range list {
		rows += r.Rows
	}
	if len(list) != mostReasons || rows != 10_000 || list[0].Reason != "too old" || len(tally) > 5*mostReasons+1 {
		t.Errorf("%d reasons of %d rows, the first %+v; %d counted", len(list), rows, list[0], len(tally))
	}
}
