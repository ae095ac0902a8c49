package formula

import "testing"

func TestSQL(t *testing.T) {
	d := Dialect{Quote: func(name string) string { return "<" + name + ">" },
		Divide: func(l, r string) string { return l + " per " + r }}
	for formula, want := range map[string]string{
		"cost / installs":         "SUM(<cost>) per SUM(<installs>)",
		"(a + b) / abs(c - 1000)": "(SUM(<a>) + SUM(<b>)) per ABS(SUM(<c>) - 1000)",
		"a / b / c":               "SUM(<a>) per SUM(<b>) per SUM(<c>)",
	} {
		if got, err := SQL(formula, d); got != want || err != nil {
			t.Errorf("%s: %s, %v", formula, got, err)
		}
	}
	d.Sum = func(name string) string { return "total_" + name }
	if got, err := SQL("cost * 1000 / installs", d); got != "total_cost * 1000 per total_installs" || err != nil {
		t.Errorf("of totals: %s, %v", got, err)
	}
	for _, bad := range []string{"", "a %% b", "a % b", "f(a)", "abs(a, b)", "a; b", "a.b", `"x" / [1]`} {
		if got, err := SQL(bad, d); err == nil && got != `"x"` {
			t.Errorf("%q gives %s", bad, got)
		}
	}
}
