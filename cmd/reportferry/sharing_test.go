package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/jobs/outbox/outboxtest"
)

const sharingConfig = `
service: embedded
ledger: file://./ledger
spool_dir: spool
jobs:
  - name: choices
    kind: sharing
    schedule: "30 2 * * *"
    source: file://./in/{date}/*.csv
    columns: {idfa: device}
    partners: [ghostnet]
    rejects: file://./rejects
    max_rejects: 90%
    wait_until_quiet: false
    rate: 1000
`

// What people see of every command on sharing, one after the other in one folder. The clock is the
// bubble's.
func TestSharingText(t *testing.T) {
	dir := wideFolder(t)
	check(t, os.WriteFile("reportferry.yml", []byte(sharingConfig), 0o600))
	account, err := emulator.New(emutest.With(emulator.Options{}))
	check(t, err)
	app := account.Apps()[0].Token
	check(t, account.Close())
	put := func(path string, rows ...string) func() {
		return func() {
			check(t, os.MkdirAll(filepath.Dir(path), 0o755))
			text := "app_token,device,sharing,partner_sharing_settings\n" + strings.Join(rows, "\n") + "\n"
			check(t, os.WriteFile(path, []byte(strings.ReplaceAll(text, "APP", app)), 0o600))
		}
	}
	today, tomorrow := "in/2009-12-29/consent.csv", "in/2009-12-30/consent.csv"
	for i, s := range []struct {
		name   string
		args   []string
		code   int
		before func()
	}{
		{"none", []string{"sharing", "status"}, 0, nil},
		{"check", []string{"sharing", "check"}, 3, put(today, "APP,c0ffee-1,enable,", "APP,c0ffee-2,disable,",
			"nosuchapp,c0ffee-3,enable,",
			`APP,c0ffee-1,,"{""ghostnet"":{""all"":true},""google"":{""all"":false}}"`, "APP,c0ffee 4,enable,",
			"APP,c0ffee-1,perhaps,", "APP,,perhaps,",
			`APP,c0ffee-2,,"{""gogle"":{""all"":false}}"`,
			`APP,c0ffee-2,,"[{""partnerName"":""Facebook (34)"",""key"":""event"",""value"":""false""}]"`)},
		{"plan", []string{"plan", "--now"}, 0, nil},
		{"push", []string{"sharing", "push"}, 3, nil},
		{"again", []string{"sharing", "push"}, 0, nil},
		{"by-hand", []string{"sharing", "push", "more.csv"}, 0, put("more.csv", "APP,c0ffee-2,enable,")},
		{"no-file", []string{"sharing", "push", "nothing.csv"}, 2, nil},
		{"misspelt", []string{"sharing", "check", "bad.csv"}, 3,
			func() { check(t, os.WriteFile("bad.csv", []byte("app_token,device,sharng\n"), 0o600)) }},
		{"late", []string{"sharing", "push"}, 3, put("in/2009-12-28/consent.csv", "APP,c0ffee-1,disable,",
			"APP,c0ffee-5,disable,")},
		{"status", []string{"sharing", "status"}, 0, nil},
		{"check-live", []string{"check", "--live", "--seed", "1"}, 0, nil},
		{"requeue", []string{"sharing", "requeue"}, 0, nil},
		{"show-ids", []string{"sharing", "push", "--show-ids"}, 3, put(tomorrow, "nosuchapp,c0ffee-6,enable,",
			"APP,c0ffee-7,enable,")},
		{"explain", []string{"sharing", "explain", `{"all":{"all":false},"google":{"install":true}}`}, 0, nil},
		{"explain-later", []string{"sharing", "explain", "--metric", "install", `{"all":{"install":false}}`,
			`{"all":{"all":true},"tiktok":{"session":false}}`}, 0, nil},
		{"explain-partner", []string{"sharing", "explain", "--partner", "partner_3",
			`{"facebook":{"session":false,"reattribution":true,"event":false}}`}, 0, nil},
		{"explain-strange", []string{"sharing", "explain", "--metric", "event",
			`{"Facebook (34)":{"event":false},"gogle":{"event":true}}`}, 0, nil},
		{"explain-disable", []string{"sharing", "explain", "--sharing", "disable", "--partner", "ghostnet", "--metric",
			"event"}, 0, nil},
	} {
		t.Run(s.name, func(t *testing.T) {
			var out, err bytes.Buffer
			synctest.Test(t, func(t *testing.T) {
				// A morning of 2009-12-29, a minute later for each command; then the next day.
				time.Sleep(10*365*24*time.Hour + 7*time.Hour + time.Duration(i)*time.Minute)
				if s.name == "show-ids" {
					time.Sleep(24 * time.Hour)
				}
				if s.before != nil {
					s.before()
				}
				defer time.Sleep(time.Second) // the embedded service's last goroutines
				if code := execute(t.Context(), s.args, &out, &err); code != s.code {
					t.Errorf("exit code %d, want %d: %s%s", code, s.code, &out, &err)
				}
			})
			said := strings.ReplaceAll(err.String()+out.String(), dir, "/dir")
			if all := err.String() + out.String(); strings.Contains(all, "c0ffee") != (s.name == "show-ids") ||
				strings.Contains(all, "c0ffee-7") {
				t.Errorf("devices are shown, or aren't:\n%s", all)
			}
			said = logLine.ReplaceAllString(said, "$1 ...\n") // wider than people's lines
			golden(t, "sharing-"+s.name, "$ reportferry "+wrapped(strings.Join(s.args, " "))+steady(said))
		})
	}
	if code := execute(t.Context(), []string{"console", "--export", "pages"}, &strings.Builder{},
		&strings.Builder{}); code != 0 {
		t.Errorf("the pages aren't written: exit code %d", code)
	}
	pages, err := filepath.Glob("pages/jobs/*/index.html")
	check(t, err)
	for _, page := range append(pages, "pages/index.html", "pages/problems.html") {
		text, err := os.ReadFile(page)
		check(t, err)
		if strings.Contains(string(text), "c0ffee") || len(pages) == 0 || strings.HasPrefix(page, "pages/jobs") &&
			!strings.Contains(string(text), ".csv") {
			t.Errorf("%s shows devices, or no file", page)
		}
	}
	for _, x := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--json", "--partner", "google", "--metric", "event", `{"google":{"event":false}}`}, 0,
			`{"partner":"google","metric":"event","shared":false,"rule":"own","because":"google.event is false"}`},
		{[]string{"--json", "--partner", "34", "--metric", "event", `{"Facebook (34)":{"event":false}}`}, 0,
			`{"partner":"facebook","metric":"event","shared":false,"rule":"own","because":"facebook.event is false"}`},
		{[]string{"--json", "--partner", "Net (7)", "--metric", "event", `{"7":{"event":false}}`,
			`[{"partnerName":"net","key":"session","value":false}]`}, 0,
			`{"partner":"Net","metric":"event","shared":false,"rule":"own","because":"Net.event is false"}`},
		{[]string{"--partners", "Net (7)", "--partner", "7", "--metric", "install", `{"NET":{"session":false}}`}, 0,
			"Net\n  metric"},
		{[]string{`{"google":{"events":false}}`}, 2,
			"explain: settings 1: names no metric that is known: number 1 of partner google"},
		{[]string{`{}`, "{"}, 2, "explain: settings 1: is an empty object, or holds one"},
		{[]string{"--metric", "all"}, 2, `explain: --metric "all" is none of session, install, `},
		{[]string{"--partner", "all"}, 2, `explain: --partner "all" is none of applovin, chartboost, `},
		{[]string{"--sharing", "no"}, 2, `explain: --sharing "no": want enable or disable`},
	} {
		var out bytes.Buffer
		if code := execute(t.Context(), append([]string{"sharing", "explain"}, x.args...), &out,
			&out); code != x.code || !strings.Contains(out.String(), x.want) {
			t.Errorf("%q: %d %s", x.args, code, &out)
		}
	}
	rejects, err := os.ReadFile("rejects/2009-12-29/consent.csv.rejects.csv")
	check(t, err)
	want := `5,idfa,holds something else than letters, digits, dots, dashes and underscores,APP,c0ffee 4,enable,
6,sharing,is neither enable nor disable,APP,c0ffee-1,perhaps,
7,,has no device: idfa, gps_adid and device_id are all empty,APP,,perhaps,
8,,the service answered 400: Third party sharing failed (Unknown partner: gogle),APP,c0ffee-2,,{"gogle":{"all":false}}
3,,the service answered 400: Third party sharing failed (App not found),nosuchapp,c0ffee-3,enable,
4,,the service took a part of it: Third party sharing partially failed (Unknown partner: ghostnet),APP,c0ffee-1,,{"ghostnet":{"all":true},"google":{"all":false}}
`
	_, rows := outboxtest.Rejects(t, strings.ReplaceAll(string(rejects), app, "APP"), ',')
	// What the service refused comes when its answer does.
	got := slices.Sorted(strings.Lines(outboxtest.Text(rows) + "\n"))
	if !slices.Equal(got, slices.Sorted(strings.Lines(want))) {
		t.Errorf("rejects:\n%s", rejects)
	}
	p := &place{t: t, dir: dir, token: "no-token"}
	p.private("")
}
