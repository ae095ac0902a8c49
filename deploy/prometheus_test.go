package deploy

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// Each alert is one of promtool's own tests, with series that raise it and series that don't, and
// asks for numbers that there are.
func TestAlerts(t *testing.T) {
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	check(t, yaml.Unmarshal([]byte(read(t, "prometheus/rules.yml")), &rules))
	var tests struct {
		Tests []struct {
			Alerts []struct {
				Name     string           `json:"alertname"`
				Expected []map[string]any `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		}
	}
	check(t, yaml.Unmarshal([]byte(read(t, "prometheus/rules_test.yml")), &tests))
	raised := map[string]bool{}
	for _, test := range tests.Tests {
		for _, a := range test.Alerts {
			raised[a.Name] = raised[a.Name] || len(a.Expected) > 0
		}
	}
	known := []string{"up"}
	for _, m := range regexp.MustCompile(`"((?:table|job|jobs|outbox)\.[\w.]+)"(, "s")?`).FindAllStringSubmatch(read(t,
		"../internal/telemetry/gauges.go"), -1) {
		name := "reportferry_" + strings.ReplaceAll(m[1], ".", "_")
		if m[2] != "" {
			name += "_seconds"
		}
		known = append(known, name)
	}
	for _, r := range rules.Groups[0].Rules {
		if !raised[r.Alert] {
			t.Errorf("no test raises %s", r.Alert)
		}
		for _, name := range regexp.MustCompile(`\b(?:up|reportferry_\w+)\b`).FindAllString(r.Expr, -1) {
			if !slices.Contains(known, name) {
				t.Errorf("%s asks for %s; there are %q", r.Alert, name, known)
			}
		}
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("promtool isn't there; the Debian package prometheus has it")
		}
		t.Skip("promtool isn't there; the Debian package prometheus has it")
	}
	for _, args := range [][]string{{"check", "rules", "rules.yml"}, {"test", "rules", "rules_test.yml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = "prometheus"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %q: %v\n%s", args, err, out)
		}
	}
}
