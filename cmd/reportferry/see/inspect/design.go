package inspect

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/views"
	"github.com/reportferry/reportferry/sinks"
)

// Summed designs the view that sums a table's metrics by its date and the dimensions in by. left
// lists the metrics that the view can't have, each with the reason. An error says which dimension
// the table lacks, or that it has nothing to sum.
func Summed(table string, s *sinks.Schema, by []string) (v views.Table, left []string, err error) {
	v = views.Table{Name: table, On: s.On, By: by}
	columns := map[string]sinks.Column{}
	for _, c := range s.Columns {
		columns[c.Slug()] = c
	}
	for _, name := range by {
		if name == s.On || !slices.ContainsFunc(s.Columns, func(c sinks.Column) bool {
			return c.Name == name &&
				c.Required
		}) {
			return v, nil, fmt.Errorf("--by %s: the table has no such dimension beside its date", name)
		}
	}
	for _, c := range s.Columns {
		if c.Required {
			continue
		}
		f := metricField(c.Slug())
		if summable(f, s, by) {
			v.Sums = append(v.Sums, c.Name)
			continue
		}
		formula, missing := expand(f.Formula(), columns, s, by)
		switch {
		case missing == "" && formula != "":
			v.Ratios = append(v.Ratios, views.Ratio{Name: c.Name, Formula: formula})
		case missing != "":
			left = append(left, fmt.Sprintf("%s, which needs %s in the table", c.Name, missing))
		default:
			left = append(left, c.Name+", which can't be summed and has no formula")
		}
	}
	if len(v.Sums) == 0 {
		return v, left, errors.New("the table has no metric that can be summed")
	}
	return v, left, nil
}

// metricField returns the catalogue's entry of a metric. That of an event's metric is derived from
// its name.
func metricField(slug string) catalog.Field {
	if f, ok := catalog.Metric(slug); ok {
		return f
	}
	f, _ := catalog.Guess(slug)
	return f
}

// summable tells whether a metric may be summed over all the dimensions that the view leaves out:
// unique users may not be summed over days, for example.
func summable(f catalog.Field, s *sinks.Schema, by []string) bool {
	for _, c := range s.Columns {
		if c.Required && c.Name != s.On && !slices.Contains(by, c.Name) && !f.AdditiveOver(c.Slug()) {
			return false
		}
	}
	return f.Additive != catalog.Nowhere
}

// expand rewrites a metric's formula until it consists of columns that the view sums: it replaces
// metrics that aren't such columns by their own formulas. When that can't be done, text is empty,
// and missing is a metric that the table would need for it.
func expand(formula string, columns map[string]sinks.Column, s *sinks.Schema, by []string) (text, missing string) {
	if formula == "" {
		return "", ""
	}
	e, err := parser.ParseExpr(formula)
	if err != nil {
		return "", ""
	}
	parts := map[string]string{}
	ast.Inspect(e, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || id.Name == "abs" || missing != "" {
			return true
		}
		f := metricField(id.Name)
		if c, has := columns[id.Name]; has && summable(f, s, by) {
			parts[id.Name] = c.Name
			return true
		}
		inner, lacks := expand(f.Formula(), columns, s, by)
		if inner == "" {
			missing = id.Name
			if lacks != "" && !summable(f, s, by) { // a column of it wouldn't do: it can't be summed
				missing = lacks
			}
			return true
		}
		parts[id.Name] = "(" + inner + ")"
		return true
	})
	if missing != "" {
		return "", missing
	}
	return replaceWords(formula, parts), ""
}

// replaceWords replaces whole identifiers of a formula by the texts in parts.
func replaceWords(formula string, parts map[string]string) string {
	var b, word strings.Builder
	flush := func() {
		if to, ok := parts[word.String()]; ok {
			b.WriteString(to)
		} else {
			b.WriteString(word.String())
		}
		word.Reset()
	}
	for _, r := range formula {
		if r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			word.WriteRune(r)
			continue
		}
		flush()
		b.WriteRune(r)
	}
	flush()
	return b.String()
}
