package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

const completeConfig = `
service: embedded
ledger: file://./ledger
spool_dir: spool
jobs:
  - {name: countries_daily, kind: report, sinks: [file://./out], start: -3d, codec: snappy, currency: USD, dimensions: [day], metrics: [installs]}
  - {name: countries_total, kind: report, sinks: [file://./out], start: -3d, codec: snappy, currency: USD, dimensions: [network], metrics: [installs]}
`

// What a shell is offered, and how fast. The service isn't asked: the config's is stopped by then.
func TestCompletion(t *testing.T) {
	t.Chdir(t.TempDir())
	check(t, os.WriteFile("reportferry.yml", []byte(completeConfig), 0o600))
	var out bytes.Buffer
	if code := execute(t.Context(), []string{"run"}, &out, &out); code != 0 {
		t.Fatal(out.String())
	}
	day := func(ago int) string { return time.Now().UTC().AddDate(0, 0, -ago).Format(time.DateOnly) }
	days := day(1) + " " + day(2) + " " + day(3)
	check(t, os.WriteFile("bucket.yml", []byte(strings.Replace(completeConfig, "file://./ledger", "gs://nobody/ledger",
		1)), 0o600))
	for _, s := range []struct{ args, want string }{
		{"report --dimensions day,net", "day,network"},
		{"report --metrics installs,cost_per",
			"installs,cost_per_paying_user_d0 installs,cost_per_paying_user_d1 installs,cost_per_paying_user_d14 " +
				"installs,cost_per_paying_user_d3 installs,cost_per_paying_user_d30 installs,cost_per_paying_user_d7"},
		{"report --metrics=kpi_d", "kpi_daus"},
		{"report --metrics kpi_daus,kpi_d", ""},
		{"report --sort day,-kpi_d", "day,-kpi_daus"},
		{"report --index quar", "quarter"},
		{"report --filter quar", "quarter__"},
		{"report --filter network__st", "network__starts_with="},
		{"report --filter installs__",
			"installs__lt= installs__lte= installs__gt= installs__gte= installs__eq= installs__ne="},
		{"report --filter installs__gt=1", ""},
		{"run --to ./out --metrics kpi_d", "kpi_daus"},
		{"run --to ./out --dimensions quar", "quarter"},
		{"run --to ", ""},
		{"run --filter quar", "quarter__"},
		{"history countries_daily --metric kpi_d", "kpi_daus"},
		{"fields kpi_d", "kpi_daus"},
		{"fields quarter quar", ""},
		{"run ", "countries_daily countries_total"},
		{"backfill countries_total c", "countries_daily"},
		{"diff countries_daily ", days},
		{"diff countries_daily 2020-01-01 ", ""},
		{"backfill countries_daily --from ", days},
		{"history countries_daily --to 2", days},
		{"history countries_total --to ", ""},
		{"history nobody --to ", ""},
		{"diff countries_daily --config bucket.yml ", ""},
		{"plan --log-level ", "debug info warn error"},
		{"--log-format ", "text json"},
	} {
		var out, err bytes.Buffer
		args := append([]string{"__completeNoDesc"}, strings.Split(s.args, " ")...)
		took := time.Hour // the best of some times, because other tests run beside this one
		for range 5 {
			out.Reset()
			began := time.Now()
			if code := execute(t.Context(), args, &out, &err); code != 0 {
				t.Errorf("%s: exit code %d: %s", s.args, code, &err)
			}
			took = min(took, time.Since(began))
		}
		if took > 50*time.Millisecond {
			t.Errorf("%s: %v", s.args, took)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if files := s.args == "run --to "; files == strings.Contains(err.String(), "NoFileComp") {
			t.Errorf("%s: %s", s.args, &err)
		}
		if got := strings.Join(lines[:len(lines)-1], " "); got != s.want {
			t.Errorf("%s: %q, want %q", s.args, got, s.want)
		}
	}
}
