package wire

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/config/kinds"
)

func TestParseRange(t *testing.T) {
	today := civil.Date{Year: 2026, Month: 3, Day: 1}
	for in, want := range map[[2]string]string{
		{"2026-01-31", "2026-02-01"}: "2026-01-31 2026-02-01",
		{"-30d", ""}:                 "2026-01-30 2026-02-28",
		{"-1d", "-1d"}:               "2026-02-28 2026-02-28",
		{"yesterday", "today"}:       "2026-02-28 2026-03-01",
		{"-0d", "today"}:             "2026-03-01 2026-03-01",
		{"0001-01-01", "-3660d"}:     "0001-01-01 2016-02-22",
		{"today", ""}: "--from today (2026-03-01) lies after yesterday, which is the last day unless " +
			"--to says otherwise: add --to today",
		{"-1d", "-2d"}:               "--to -2d (2026-02-27) lies before --from -1d (2026-02-28)",
		{"2026-03-02", "2026-03-01"}: "--to 2026-03-01 lies before --from 2026-03-02",
		{"2026-03-03", "2026-03-04"}: "--from 2026-03-03 lies in the future; today is 2026-03-01",
		{"2026-02-30", ""}:           `--from "2026-02-30": want ` + DayWords,
		{"-1d", "30d"}:               `--to "30d": want ` + DayWords,
		{"--1d", ""}:                 `--from "--1d": want ` + DayWords,
		{"-100000d", ""}:             `--from "-100000d": want ` + DayWords,
		{"", ""}:                     `--from "": want ` + DayWords,
	} {
		first, last, err := ParseRange(in[0], in[1], today)
		got := first.String() + " " + last.String()
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", strings.Join(in[:], " "), got, want)
		}
	}
}

// It is 23:30 in UTC, and the day after in Berlin.
func TestToday(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(23*time.Hour + 30*time.Minute)
		for want, c := range map[string]config.Job{
			// The schedule's zone isn't the report's.
			"2000-01-01": {Settings: kinds.Settings{Zone: "Europe/Berlin", Report: &kinds.Report{UTCOffset: "+00:00"}}},
			"2000-01-02": {Settings: kinds.Settings{Zone: "Europe/Berlin", Report: &kinds.Report{TimezoneID: "5"}}},
		} {
			if got := Today(c).String(); got != want {
				t.Errorf("%+v: %s, want %s", c.Report, got, want)
			}
		}
		if got := Today(config.Job{Settings: kinds.Settings{Zone: "Europe/Berlin"}}).String(); got != "2000-01-02" {
			t.Errorf("without a report: %s", got)
		}
	})
}
