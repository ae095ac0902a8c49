package catalog

import "strings"

// Formula is how the service computes the metric from others, with the slugs of those: "cost/installs"; empty for a
// metric that is counted. Its operators are + - * / ( ), and abs( ) around a difference. A quotient by zero is 0 to the
// service (docs' examples).
func (f Field) Formula() string {
	_, formula, found := strings.Cut(f.Description, " = ")
	if !found {
		return ""
	}
	if inner, ok := strings.CutPrefix(formula, "|"); ok {
		formula = "abs(" + strings.TrimSuffix(inner, "|") + ")"
	}
	return strings.NewReplacer("×", "*", "−", "-", " div ", "/", " ", "").Replace(formula)
}
