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
				t.Errorf("reading %s=%s: want a name without =, comma and blank, and a clause without a full stop, "+
					"not %q", topic.Name, r.Name, r.Means)
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
		t.Errorf("error-body %s, retry-after %s, rate-by %s; want html, none and the default address", s.Of(ErrorBody),
			s.Of(RetryAfter), s.Of(RateBy))
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

// The rows of the diagonal have every reading, and all rows every two readings of different topics;
// each can be chosen.
func TestRowsHaveEveryPair(t *testing.T) {
	seen := map[string]int{} // a reading or two, and the first row that has them
	see := func(what string, n int) {
		if _, before := seen[what]; !before {
			seen[what] = n
		}
	}
	for n := range Rows() {
		row := Row(n)
		if _, err := New(row...); err != nil {
			t.Fatal(err)
		}
		for i, a := range row {
			see(a, n)
			for _, b := range row[i+1:] {
				see(a+" "+b, n)
			}
		}
	}
	topics := Topics()
	for i, a := range topics {
		for _, r := range a.Readings {
			one := a.Name + "=" + r.Name
			if n, ok := seen[one]; !ok || n >= Diagonal() {
				t.Errorf("the first row with %s is %d, %t", one, n, ok)
			}
			for _, b := range topics[i+1:] {
				for _, q := range b.Readings {
					if _, ok := seen[one+" "+b.Name+"="+q.Name]; !ok {
						t.Errorf("no row has %s and %s=%s together", one, b.Name, q.Name)
					}
				}
			}
		}
	}
	if most := Diagonal() * Diagonal(); Rows() > most {
		t.Errorf("%d rows, and %d would do for as many topics of as many readings", Rows(), most)
	}
	if first := Row(0); slices.ContainsFunc(topics, func(topic Topic) bool {
		return !slices.Contains(first,
			topic.Name+"="+topic.Readings[0].Name)
	}) {
		t.Errorf("row 0 is %q", first)
	}
}
