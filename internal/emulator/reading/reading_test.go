package reading

import (
	"slices"
	"strings"
	"testing"
)

func TestTopicsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, topic := range Topics() {
		if seen[topic.Name] || topic.Sentence == "" || len(topic.Readings) < 2 {
			t.Errorf("topic %q: want a name of its own, a sentence and two readings", topic.Name)
		}
		seen[topic.Name] = true
		names := topic.names()
		slices.Sort(names)
		if len(slices.Compact(names)) != len(topic.Readings) {
			t.Errorf("topic %s: two readings of one name in %q", topic.Name, topic.names())
		}
		for _, r := range topic.Readings {
			if r.Means == "" || strings.HasSuffix(r.Means, ".") || strings.ContainsAny(r.Name, "=, ") {
				t.Errorf("reading %s=%s: want a name without =, comma and blank, and a clause without a full stop, not %q", topic.Name, r.Name, r.Means)
			}
		}
	}
}

func TestChoices(t *testing.T) {
	s, err := New("error-body=text", "retry-after=none", "error-body=html")
	if err != nil {
		t.Fatal(err)
	}
	if !s.Is(ErrorBody, "html") || s.Of(RetryAfter) != "none" || s.Of(RateBy) != "address" {
		t.Errorf("error-body %s, retry-after %s, rate-by %s; want html, none and the default address", s.Of(ErrorBody), s.Of(RetryAfter), s.Of(RateBy))
	}
	if (Set{}).Of(ErrorBody) != "model" {
		t.Error("the zero Set hasn't the defaults")
	}
	for _, bad := range []string{"", "error-body", "error-body=", "error-body=xml", "errorbody=text"} {
		if _, err := New(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// Each reading of each topic is in some row, and every row can be chosen.
func TestRowsHaveEveryReading(t *testing.T) {
	seen := map[string]bool{}
	for n := range Rows() {
		row := Row(n)
		if _, err := New(row...); err != nil {
			t.Fatal(err)
		}
		for _, choice := range row {
			seen[choice] = true
		}
	}
	for _, topic := range Topics() {
		for _, r := range topic.Readings {
			if !seen[topic.Name+"="+r.Name] {
				t.Errorf("no row has %s=%s", topic.Name, r.Name)
			}
		}
	}
}
