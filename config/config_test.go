package config

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
)

var update = flag.Bool("update", false, "write the messages of testdata/bad/*.yml to their .txt files")

// Each file of testdata/bad stands beside the exact text of its errors.
func TestBad(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yml")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d bad files (%v), want at least 40", len(files), err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yml"), func(t *testing.T) {
			_, err := Load(path)
			if err == nil {
				t.Fatal("the file is taken for good")
			}
			got := strings.ReplaceAll(err.Error(), "testdata/bad/", "") + "\n"
			golden := strings.TrimSuffix(path, ".yml") + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got:\n%swant:\n%s", got, want)
			}
			if strings.Contains(got, "S3CRET") {
				t.Error("the message repeats a secret")
			}
		})
	}
}

// A message without its config is a leftover.
func TestBadPairs(t *testing.T) {
	golden, err := filepath.Glob("testdata/bad/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range golden {
		if _, err := os.Stat(strings.TrimSuffix(path, ".txt") + ".yml"); err != nil {
			t.Error(err)
		}
	}
}

func TestGood(t *testing.T) {
	files, err := filepath.Glob("testdata/good/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d good files (%v)", len(files), err)
	}
	for _, path := range files {
		if _, err := Load(path); err != nil {
			t.Error(err)
		}
	}
}

func TestExample(t *testing.T) {
	c, err := Load("example.yml")
	if err != nil {
		t.Fatal(err)
	}
	if !c.Service.Embedded || c.Ledger != "file://./.reportferry" || len(c.Jobs) != 2 {
		t.Errorf("example: %+v", c)
	}
	daily, weekly := c.Jobs[0], c.Jobs[1]
	if daily.Table != "campaigns_daily" || daily.Report.Page != (Page{7, 'd'}) || daily.Report.Lookback != 14 {
		t.Errorf("daily: %+v %+v", daily, daily.Report)
	}
	if weekly.Report.Page != (Page{4, 'w'}) || weekly.Report.Lookback != 7 || weekly.Zone != "UTC" {
		t.Errorf("weekly: %+v %+v", weekly, weekly.Report)
	}
}

// The service block that the example shows as a comment is right too.
func TestExampleService(t *testing.T) {
	data, err := os.ReadFile("example.yml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(data), "\nservice: embedded\n", "\n", 1)
	text = regexp.MustCompile(`(?m)^# (service:|  [a-z_]+: )`).ReplaceAllString(text, "$1")
	c, err := Parse("example.yml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := Service{
		BaseURL: "https://automate.adjust.com", Token: "${ADJUST_TOKEN}", AccountID: "1234",
		Rate: 10, InFlight: 4, Attempts: 8, Patience: 15 * time.Minute,
	}
	if c.Service != want {
		t.Errorf("got %+v, want %+v", c.Service, want)
	}
}

// One file that sets every key, against the whole value.
func TestEveryKey(t *testing.T) {
	c, err := Load("testdata/good/every_key.yml")
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Service: Service{
			BaseURL: "https://host.example/api", S2SURL: "https://s2s.example", CostURL: "http://127.0.0.1:8080",
			AccountID: "0042", Token: "${file:/run/secrets/token}", Rate: 2.5, InFlight: 2, Attempts: 3, Patience: 90 * time.Second,
		},
		Ledger: "gs://bucket/ledger", SpoolDir: "/var/spool", Lease: 30 * time.Second,
		Jobs: []Job{{
			Name: "job", Kind: "report", Schedule: "@hourly", Zone: "America/New_York", Table: "tab",
			Sinks: []string{"gs://bucket/exports", "file://./out?key={table}/{date}.parquet"}, Line: 15,
			Report: &Report{
				Start: Start{Date: civil.Date{Year: 2026, Month: 1, Day: 31}}, Until: "today", Lookback: 0, Page: Page{2, 'w'},
				OnEmpty: "keep", OnMissingEvent: "null",
				Dimensions: []string{"month", "week", "app"}, Metrics: []string{"installs", "shiny_new"},
				Events: []EventSelector{
					{Slug: "purchase", Metrics: []string{"events", "d7_revenue_cohort"}},
					{Token: "abc123", App: "123456789012", Metrics: []string{"self"}, As: "trial"},
					{Glob: "level_*", Metrics: []string{"events"}},
					{Section: "conversion_values", Metrics: []string{"self"}},
					{Name: "Sign up, \"free\"", Metrics: []string{"revenue"}, As: "signup"},
				},
				Filters: map[string][]string{"app_token__in": {"123456789012", "abcdefghijkl"}, "country_code__in": {"NO", "DE"}},
				Types:   map[string]catalog.Type{"shiny_new": catalog.Double, "trial": catalog.Int64},
				Codec:   "snappy", UTCOffset: "-05:00", CohortMaturity: "mature", AttributionTypes: []string{"click"},
				AttributionSource: "first", Reattributed: "false", IAPRevenueMode: "GROSS_70", AdSpendMode: "mixed", Sandbox: true,
				Currency: "EUR", OSNames: []string{"ios", "android"}, AdRevenueSources: []string{"AdMob", "S2S Ad Revenue"},
			},
		}},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v %+v\nwant %+v %+v", c, c.Jobs[0].Report, want, want.Jobs[0].Report)
	}
}

func TestMerge(t *testing.T) {
	c, err := Load("testdata/good/merge_list.yml")
	if err != nil {
		t.Fatal(err)
	}
	second := c.Jobs[1]
	want := map[string][]string{"app_token__in": {"a"}, "country_code__in": {"DE"}}
	if second.Name != "second" || second.Report.Until != "today" || second.Report.Start.DaysAgo != 7 || !reflect.DeepEqual(second.Report.Filters, want) {
		t.Errorf("%+v %+v", second, second.Report)
	}
	if c.Jobs[0].Report.Until != "yesterday" || c.Ledger != "file://./state" {
		t.Errorf("%+v", c)
	}
}

func TestErrorsHavePlaces(t *testing.T) {
	_, err := Parse("f.yml", []byte("service: embedded\njobs:\n- {name: a}\n"))
	var first *Error
	if !errors.As(err, &first) {
		t.Fatalf("%T %v", err, err)
	}
	if first.File != "f.yml" || first.Line != 3 || first.Col != 3 {
		t.Errorf("%+v", first)
	}
}

func TestLoadNothing(t *testing.T) {
	if _, err := Load("testdata/none.yml"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestStartOn(t *testing.T) {
	today := civil.Date{Year: 2026, Month: 3, Day: 1}
	if got := (Start{DaysAgo: 2}).On(today); got != (civil.Date{Year: 2026, Month: 2, Day: 27}) {
		t.Errorf("two days before %s: %s", today, got)
	}
	fixed := Start{Date: civil.Date{Year: 2025, Month: 12, Day: 24}}
	if got := fixed.On(today); got != fixed.Date {
		t.Errorf("got %s, want %s", got, fixed.Date)
	}
}

func TestColumn(t *testing.T) {
	for _, c := range []struct {
		as, metric, want string
	}{{"", "events", "buy_events"}, {"", "self", "buy"}, {"p", "revenue", "p_revenue"}, {"p", "self", "p"}} {
		if got := (EventSelector{As: c.as}).Column("buy", c.metric); got != c.want {
			t.Errorf("as %q, metric %q: %s, want %s", c.as, c.metric, got, c.want)
		}
	}
}
