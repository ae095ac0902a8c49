package store

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Reason is why rows of a file aren't accepted, and how many rows it concerns.
type Reason struct {
	Field  string `json:"field,omitempty"`
	Reason string `json:"reason"`
	Rows   int64  `json:"rows"`
}

// String returns the reason as a text for logs and lines.
func (r Reason) String() string {
	return fmt.Sprintf("%d of them: %s", r.Rows, strings.TrimSpace(r.Field+" "+r.Reason))
}

// mostReasons is how many reasons are kept for a file. A reason may quote a row, so there may be as
// many as rows.
const mostReasons = 20

// ReasonCounts counts refusals by their reasons.
type ReasonCounts map[Words]int64

// Add counts one refusal. Reasons after the first 100 are counted together.
func (t ReasonCounts) Add(w Words) {
	if _, known := t[w]; !known && len(t) >= 5*mostReasons {
		w = Words{Reason: "other reasons"}
	}
	t[w]++
}

// List returns the reasons with most rows, and the others as one.
func (t ReasonCounts) List() (list []Reason) {
	for w, rows := range t {
		list = append(list, Reason{w.Field, w.Reason, rows})
	}
	slices.SortFunc(list, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Reason, b.Reason))
	})
	if len(list) <= mostReasons {
		return list
	}
	rest := Reason{Reason: "other reasons"}
	for _, r := range list[mostReasons-1:] {
		rest.Rows += r.Rows
	}
	return append(list[:mostReasons-1], rest)
}
