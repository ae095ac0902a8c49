package config

import (
	"fmt"
	"strings"
	"testing"
)

// Values that the file spells in a way of its own are spelled so again.
func TestSpelled(t *testing.T) {
	for _, text := range []string{
		"drift: warn", "drift: off", "drift: 5d", "drift: 90d",
		"max_rejects: 0", "max_rejects: 7", "max_rejects: 5%", "max_rejects: 7%", "max_rejects: 0.5%",
		"max_rejects: 100%", "page: 12d",
		"reconcile: off", "reconcile: fail", "reconcile: {then: warn, cohorts: 0%}",
		"reconcile: {then: off, cohorts: 7.5%}",
		"guard: 50%", "guard: 12.5%", "guard: 100%",
	} {
		key, want, _ := strings.Cut(text, ": ")
		kind := "kind: report, start: -7d, currency: USD, dimensions: [day], metrics: [installs], sinks: ['mem://'], "
		if key == "max_rejects" {
			kind = "kind: spend, source: 'mem://a/*.csv', rejects: 'mem://r', "
		}
		c, err := Parse("x", []byte("service: {base_url: https://a, cost_url: https://b, token: '${T}'}\njobs: "+
			"[{name: j, "+kind+text+"}]"), testEnv)
		if err != nil {
			t.Fatal(err)
		}
		var got any
		switch j := c.Jobs[0]; key {
		case "drift":
			got = j.Report.Drift
		case "reconcile":
			got = j.Report.Reconcile
		case "guard":
			got = j.Report.Guard
		case "page":
			got = j.Report.Page
		case "max_rejects":
			got = j.Spend.MaxRejects
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s is spelled %v", text, got)
		}
	}
}
