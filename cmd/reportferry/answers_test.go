package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/slow"
)

// answerName is the name of a kept answer, of which a part is random.
var answerName = regexp.MustCompile(`(\d{8}T\d{6}\.\d{3}Z)-[A-Z2-7]{12}\.csv\.zst`)

const answersConfig = `
service: embedded
ledger: file://./ledger
spool_dir: spool
raw: file://./raw
jobs:
  - name: spend_daily
    kind: report
    sinks: [file://./out]
    start: 2010-12-20
    lookback: 2
    codec: snappy
    currency: USD
    dimensions: [day, app_token, network]
    metrics: [installs, network_cost, ecpi_all]
`

// What people see who lose a bucket, add a sink, change a type and ask what moved, in one folder,
// by the bubble's clock.
func TestReplayText(t *testing.T) {
	slow.Test(t)
	dir := t.TempDir()
	t.Chdir(dir)
	check(t, os.WriteFile("reportferry.yml", []byte(answersConfig), 0o600))
	answers := func() []string {
		list, err := filepath.Glob("raw/spend_daily/*/*.zst")
		check(t, err)
		return list
	}
	for _, s := range []struct {
		name, args string
		days, code int
		before     func()
	}{
		{"", "run --now", 0, 0, nil},
		{"", "run --now", 1, 0, nil},
		{"diff", "diff spend_daily 2010-12-28", 1, 0, nil},
		{"diff-by", "diff spend_daily 2010-12-28 --by network --against 2010-12-29", 1, 0, nil},
		{"diff-csv", "diff spend_daily 2010-12-28 --by network --format csv", 1, 0, nil},
		{"diff-json", "diff spend_daily 2010-12-28 --by network --format json", 1, 0, nil},
		{"diff-once", "diff spend_daily 2010-12-21", 1, 0, nil},
		{"diff-never", "diff spend_daily 2010-11-30", 1, 2, nil},
		{"replay-lost", "replay spend_daily", 1, 0, func() { check(t, os.RemoveAll("out")) }},
		{"replay-again", "replay spend_daily", 1, 0, nil},
		{"replay-damaged", "replay spend_daily", 1, 3, func() {
			check(t, os.RemoveAll("out"))
			data, err := os.ReadFile(answers()[0])
			check(t, err)
			check(t, os.WriteFile(answers()[0], data[:len(data)/2], 0o600))
		}},
		{"replay-sink", "replay spend_daily --from 2010-12-28 --to 2010-12-29", 1, 0,
			change(t, "sinks: [file://./out]", "sinks: [file://./out, file://./second]")},
		{"replay-seq", "replay spend_daily --from 2010-12-28 --to 2010-12-28 --seq 1", 1, 0, nil},
		{"replay-type-refused", "run", 1, 2, change(t, "metrics: [installs, network_cost, ecpi_all]",
			"metrics: [installs, network_cost, ecpi_all]\n    types: {ecpi_all: double}")},
		{"replay-type", "replay spend_daily", 1, 3, nil},
		{"replay-currency", "replay spend_daily", 1, 2, change(t, "currency: USD", "currency: EUR")},
		{"replay-none", "replay spend_daily", 1, 2, change(t, "raw: file://./raw\n", "")},
	} {
		if s.before != nil {
			s.before()
		}
		t.Run(s.name, func(t *testing.T) {
			var out, err bytes.Buffer
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(11*365*24*time.Hour + 7*time.Hour + time.Duration(s.days)*24*time.Hour)
				if code := execute(t.Context(), strings.Fields(s.args), &out, &err); code != s.code {
					t.Errorf("exit code %d, want %d: %s%s", code, s.code, &out, &err)
				}
			})
			if strings.Contains(s.args, "json") {
				for line := range strings.Lines(out.String()) {
					if !json.Valid([]byte(line)) || !strings.Contains(line, `"key":{"network":"`) {
						t.Errorf("%s", line)
					}
				}
			} else if s.name != "" {
				golden(t, "command-"+s.name,
					"$ reportferry "+wrapped(s.args)+answerName.ReplaceAllString(steady(err.String()+out.String()),
						"$1.csv.zst"))
			}
		})
	}
}
