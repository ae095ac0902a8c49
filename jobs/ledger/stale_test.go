package ledger

import (
	"errors"
	"strings"
	"testing"
)

func shapeWith(currency string, columns ...string) Shape {
	s := Shape{Fingerprint: map[string]string{"currency": currency, FingerprintPeriod: "day"}}
	for _, c := range columns {
		name, typ, _ := strings.Cut(c, " ")
		source := name
		if strings.HasSuffix(typ, " null") {
			typ, source = strings.TrimSuffix(typ, " null"), ""
		}
		s.Columns = append(s.Columns, Column{Name: name, Type: typ, Source: source})
	}
	return s
}

func TestShapesCompared(t *testing.T) {
	now := shapeWith("USD", "day DATE", "installs INT64", "cost DECIMAL")
	for _, c := range []struct {
		name        string
		was         Shape
		same, lacks bool
	}{
		{"the same", now, true, false},
		{"another currency", shapeWith("EUR", "day DATE", "installs INT64", "cost DECIMAL"), false, false},
		{"another type", shapeWith("USD", "day DATE", "installs DOUBLE", "cost DECIMAL"), false, false},
		{"fewer columns", shapeWith("USD", "day DATE", "installs INT64"), true, true},
		{"more columns", shapeWith("USD", "day DATE", "installs INT64", "cost DECIMAL", "clicks INT64"), true, false},
		{"a column of NULLs", shapeWith("USD", "day DATE", "installs INT64", "cost DECIMAL null"), true, true},
		{"another order", shapeWith("USD", "cost DECIMAL", "installs INT64", "day DATE"), true, false},
	} {
		if got := c.was.SameMeaning(now); got != c.same {
			t.Errorf("%s: same meaning: %v", c.name, got)
		}
		if got := c.was.Lacks(now); (got != nil) != c.lacks {
			t.Errorf("%s: lacks: %v", c.name, got)
		}
		if err := CheckShape("t", c.was, now); (err == nil) != c.same || err != nil && !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	weekly := shapeWith("EUR")
	weekly.Fingerprint[FingerprintPeriod] = "week"
	if err := CheckRebaseline("t", weekly, now); !errors.Is(err, ErrRefused) {
		t.Errorf("a rebaseline from weeks to days: %v", err)
	}
	if err := CheckRebaseline("t", shapeWith("EUR"), now); err != nil {
		t.Error(err)
	}
}
