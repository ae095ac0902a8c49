package files

import (
	"fmt"
	"strings"
	"testing"
)

// Reasons that have numbers of the row's own in them don't fill the memory or the screen.
func TestManyReasons(t *testing.T) {
	c := &problems{byReason: map[Refusal]*Problem{}}
	for row := int64(1); row <= 3000; row++ {
		c.count(Refusal{Reason: fmt.Sprintf("has %d cells", row%1500)}, row)
	}
	var rows int64
	for _, p := range c.order {
		rows += p.Rows
	}
	if last := c.order[len(c.order)-1]; len(c.order) != mostProblems+1 || rows != 3000 ||
		*last != (Problem{Refusal{Reason: "(other reasons)"}, 1000, 1001, false}) {
		t.Errorf("%d problems of %d rows, the last is %+v", len(c.order), rows, last)
	}
	if first := c.order[0]; *first != (Problem{Refusal{Reason: "has 1 cells"}, 2, 1, false}) {
		t.Errorf("the first is %+v", first)
	}
}

// An error lists the names of columns, and never what a file without names has in their place: here
// a value is the name of a field.
func TestNoIDIsListedAsAColumn(t *testing.T) {
	m := Mapping{Fields: []Field{{Name: "app_token"}, {Name: "idfa", From: Found}}, Strict: true}
	for _, columns := range [][]string{{"abc123def456", "idfa", "5F9B6C2E-0D3A-4B1C-9E2F-111111111111", "enable"},
		{"app_token", "idfa", "5F9B6C2E-0D3A-4B1C-9E2F-111111111111"}, {"idfa", "tag\rclick-one-of-somebody"}} {
		if _, err := m.find(columns); err == nil || strings.Contains(err.Error(), "5F9B") ||
			strings.Contains(err.Error(), "somebody") {
			t.Errorf("%q: %v", columns, err)
		}
	}
}
