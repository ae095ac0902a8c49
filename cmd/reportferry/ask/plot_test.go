package ask

import (
	"bytes"
	"strings"
	"testing"
)

// What is drawn is summed over the other dimensions; a day without a row is a hole, and what can't
// be summed isn't drawn.
func TestPlot(t *testing.T) {
	a := fileAnswer(t, "day,network,installs,roas_d7,cost\n2026-01-01,x,10,0.5,1\n2026-01-01,y,20,0.5,\n2026-01-03,x,"+
		"40,0.5,2\n2026-01-05,x,,0.5,3\n")
	var out bytes.Buffer
	checkAsk(t, a.plot(&out))
	for _, want := range []string{"installs, 2026-01-01 to 2026-01-03", "× missing: 1",
		"roas_d7 isn't drawn: it can't be summed over network", "cost, 2026-01-01 to 2026-01-05", "× missing: 2",
		" 40.0 "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q in\n%s", want, &out)
		}
	}
	out.Reset()
	checkAsk(t, fileAnswer(t, "day,roas_d7\n2026-01-01,0.5\n2026-01-02,0.75\n").plot(&out))
	if !strings.Contains(out.String(), "roas_d7, 2026-01-01 to 2026-01-02") {
		t.Errorf("a ratio by day alone is drawn as\n%s", &out)
	}
	if err := fileAnswer(t, "network,installs\nx,1\n").plot(&out); err == nil ||
		!strings.Contains(err.Error(), "add day") {
		t.Errorf("without a date: %v", err)
	}
}
