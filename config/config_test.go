package config

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/config/kinds"
	"github.com/reportferry/reportferry/config/strict"
	"github.com/reportferry/reportferry/config/strict/stricttest"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/rooted"
)

var update = flag.Bool("update", false, "write the messages of testdata, schema.json and README.md")

// testEnv is the environment of all files here.
func testEnv(name string) (string, bool) {
	value, set := map[string]string{
		"BUCKET": "my-bucket", "EMPTY": "", "SECRET": "S3CRET-of-the-environment", "CRON": "0 6 * * *",
		"METRIC": "installs", "SHORT": "S3CRET",
	}[name]
	return value, set
}

// Each file of testdata/bad stands beside the exact text of its errors.
func TestBad(t *testing.T) {
	stricttest.Bad(t, "testdata/bad", 40, *update, func(path string) error {
		_, err := Load(path, testEnv)
		return err
	})
}

// Each file of testdata/warn is taken, and stands beside the exact text of its warnings.
func TestWarnings(t *testing.T) {
	files, err := filepath.Glob("testdata/warn/*.yml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d files with warnings (%v), want at least 3", len(files), err)
	}
	for _, path := range files {
		c, err := Load(path, testEnv)
		if err != nil {
			t.Error(err)
			continue
		}
		var got strings.Builder
		for _, w := range c.Warnings {
			fmt.Fprintln(&got, strings.TrimPrefix(w.Error(), "testdata/warn/"))
		}
		if got.Len() == 0 {
			t.Errorf("%s: no warning", path)
		}
		stricttest.Golden(t, strings.TrimSuffix(path, ".yml")+".txt", got.String(), *update)
	}
}

func TestGood(t *testing.T) {
	files, err := filepath.Glob("testdata/good/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d good files (%v)", len(files), err)
	}
	for _, path := range files {
		c, err := Load(path, testEnv)
		if err != nil {
			t.Error(err)
		} else if len(c.Warnings) > 0 {
			t.Errorf("%s: %v", path, c.Warnings)
		}
	}
}

func TestExample(t *testing.T) {
	c, err := Load("example.yml", testEnv)
	if err != nil {
		t.Fatal(err)
	}
	if !c.Service.Embedded || c.Ledger != below("..", "file://./.reportferry") || len(c.Jobs) != 3 ||
		len(c.Warnings) != 0 {
		t.Fatalf("example: %+v", c)
	}
	daily, weekly, slugs := c.Jobs[0], c.Jobs[1], c.Jobs[2]
	if daily.Table != "campaigns_daily" || daily.Report.Page != (kinds.Page{Count: 7, Unit: 'd'}) ||
		daily.Report.Lookback != 7 {
		t.Errorf("daily: %+v %+v", daily, daily.Report)
	}
	if slugs.Report != nil || !reflect.DeepEqual(slugs.Events, &kinds.Events{Codec: "zstd"}) {
		t.Errorf("slugs: %+v", slugs)
	}
	if weekly.Report.Page != (kinds.Page{Count: 4, Unit: 'w'}) || weekly.Report.Lookback != 7 || weekly.Zone != "UTC" {
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
	text = regexp.MustCompile(`(?m)^# (service:|  [a-z0-9_]+: )`).ReplaceAllString(text, "$1")
	c, err := Parse("example.yml", []byte(text), testEnv)
	if err != nil {
		t.Fatal(err)
	}
	want := Service{
		BaseURL: "https://automate.adjust.com", Token: "${ADJUST_TOKEN}", AccountID: "1234",
		CostURL: "https://app.adjust.com", Spend: Login{Token: "${PARTNER_KEY}", Header: "Authorization"},
		S2SURL: "https://s2s.adjust.com", Sharing: Login{Token: "${S2S_TOKEN}", Header: "Authorization"},
		// InFlight as the client has it by default.
		Rate: 10, Burst: 1, InFlight: 8, MaxURL: 6000, Attempts: 8, Patience: 15 * time.Minute, MaxAnswer: 1 << 30,
	}
	if c.Service != want {
		t.Errorf("got %+v, want %+v", c.Service, want)
	}
}

// One file that sets every key, against the whole value.
func TestEveryKey(t *testing.T) {
	c, err := Load("testdata/good/every_key.yml", testEnv)
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Root: rooted.Folder(below("testdata/good", "file://.")),
		Service: Service{
			BaseURL: "https://host.example/api", S2SURL: "https://s2s.example", CostURL: "http://127.0.0.1:8080",
			AccountID: "0042", Token: "${file:/run/secrets/token}", Rate: 2.5, Burst: 3, InFlight: 2, MaxURL: 6000,
			Attempts: 3, Patience: 90 * time.Second, MaxAnswer: 2 << 30,
		},
		Ledger: "gs://bucket/ledger", Audit: "bigquery://project/audit", Export: "gs://bucket/status",
		SpoolDir: "/var/spool", Lease: 30 * time.Second,
		KeepDays: 800, States: "_reportferry_", Parquet: Parquet{Pages: "v1"},
		Raw: kinds.Raw{URL: "gs://bucket/raw", KeepDays: 400},
		Jobs: []Job{{
			Name: "job", Entry: "job", Kind: "report", Schedule: "@hourly", Table: "tab",
			Sinks: []string{"gs://bucket/exports", below("testdata/good", "file://./out?key={table}/{date}.parquet")},
			line:  23,
			Settings: kinds.Settings{Zone: "America/New_York", Report: &kinds.Report{
				Start: kinds.Start{Date: civil.Date{Year: 2026, Month: 1, Day: 31}}, Until: "today", Period: "week",
				Lookback: 0, Horizons: []int{30}, Page: kinds.Page{Count: 2, Unit: 'w'},
				OnEmpty: "keep", BadText: "replace", Guard: 0.5, OnMissingEvent: "null", NewColumns: "later",
				Contract: "freeze", Rename: map[string]string{"app": "application", "shiny_new": "shiny"},
				Reconcile: kinds.Reconcile{Then: "fail", Cohorts: 0.05}, FinalAfter: 30,
				Drift:      kinds.Drift{Days: 90, Warn: true},
				Raw:        kinds.Raw{URL: "gs://bucket/job-raw", Required: true},
				Dimensions: []string{"month", "week", "app"}, Metrics: []string{"installs", "shiny_new"},
				Events: []kinds.EventSelector{
					{Slug: "purchase", Metrics: []string{"events", "d7_revenue_cohort"}},
					{Token: "abc123", App: "123456789012", Metrics: []string{"self"}, As: "trial"},
					{Glob: "level_*", Metrics: []string{"events"}},
					{Section: "conversion_values", Metrics: []string{"self"}},
					{Name: "Sign up, \"free\"", Metrics: []string{"revenue"}, As: "signup"},
				},
				Filters: map[string][]string{
					"app_token__in": {"123456789012", "abcdefghijkl"}, "country_code__not_in": {"NO", "DE"},
					"network__contains": {"organic, or not"}, "network__exclude": {"x"},
					"campaign__starts_with": {"2026"}, "campaign__not_starts_with": {"true"},
					"adgroup__ends_with": {"a"}, "adgroup__not_ends_with": {"b"},
					"installs__gt": {"0"}, "installs__gte": {"1.5"}, "cost__lt": {"1000000000000000000000"},
					"cost__lte":     {"1000"},
					"shiny_new__eq": {"-1"}, "level__up_events__ne": {"3"},
				},
				Types: map[string]catalog.Type{"shiny_new": catalog.Double, "trial": catalog.Int64},
				Codec: "snappy", UTCOffset: "-05:00", AppScope: "account", Currency: "EUR",
				Parameters: map[string][]string{
					"cohort_maturity": {"mature"}, "attribution_types": {"click"}, "attribution_source": {"first"},
					"reattributed":     {"false"},
					"iap_revenue_mode": {"GROSS_70"}, "ad_spend_mode": {"mixed"}, "sandbox": {"true"},
					"os_names":           {"ios", "android"},
					"ad_revenue_sources": {"AdMob", "S2S Ad Revenue"},
				},
			}},
		}, {
			Name: "zoned", Entry: "zoned", Kind: "report", Table: "zoned",
			Sinks: []string{"mem://"}, line: 90,
			Settings: kinds.Settings{Zone: "Europe/Berlin", Report: &kinds.Report{
				Start: kinds.Start{DaysAgo: 30}, Until: "yesterday", Period: "year", Lookback: 14,
				Horizons: []int{30, 37},
				Page:     kinds.Page{Count: 1, Unit: 'y'},
				OnEmpty:  "guard", BadText: "replace", Guard: 0.5, OnMissingEvent: "fail", NewColumns: "now",
				Contract: "evolve", Dimensions: []string{"year", "app"},
				Reconcile: kinds.Reconcile{Then: "warn", Cohorts: 0.02}, FinalAfter: -1, Drift: kinds.Drift{Days: 90},
				Raw: kinds.Raw{URL: "gs://bucket/raw", KeepDays: 400},
				Metrics: []string{"roas_d7", "retention_rate_d30", "retained_users_d3", "network_cost",
					"purchase_revenue"},
				Filters: map[string][]string{}, Types: map[string]catalog.Type{"purchase_revenue": catalog.Decimal},
				Codec: "zstd", TimezoneID: "5", AppScope: "listed", Currency: "EUR",
				Parameters: map[string][]string{
					"cohort_maturity": {"immature"}, "attribution_types": {"click", "impression", "engaged_ad"},
					"attribution_source": {"dynamic"},
					"reattributed":       {"all"}, "iap_revenue_mode": {"GROSS_100"}, "ad_spend_mode": {"adjust"},
					"sandbox": {"false"},
				},
			}},
		}, {
			Name: "slugs", Entry: "slugs", Kind: "events", Schedule: "0 5 * * *",
			Table: "event_slugs",
			Sinks: []string{"gs://bucket/events"}, line: 101,
			Settings: kinds.Settings{Zone: "Europe/Berlin", Events: &kinds.Events{
				Apps: []string{"123456789012", "abcdefghijkl"}, Search: "purchase", Codec: "none"}},
			Warehouse: Warehouse{
				ClusterBy: []string{"slug"}, RequireFilter: true, ExpireDays: 400,
				KMSKey: "projects/p/locations/eu/keyRings/r/cryptoKeys/k",
				Labels: map[string]string{"team": "data", "cost-center": "42"},
			},
		}},
	}
	if len(c.Jobs) != len(want.Jobs) {
		t.Fatalf("%d jobs, want %d", len(c.Jobs), len(want.Jobs))
	}
	for i, j := range c.Jobs {
		if r := want.Jobs[i].Report; r != nil { // parameters that the file leaves to the service
			for _, p := range kinds.Parameters() {
				if _, named := r.Parameters[p.Name]; !named {
					r.Parameters[p.Name] = nil
				}
			}
		}
		if !reflect.DeepEqual(j, want.Jobs[i]) {
			t.Errorf("got  %+v %+v %+v\nwant %+v %+v %+v", j, j.Report, j.Events, want.Jobs[i], want.Jobs[i].Report,
				want.Jobs[i].Events)
		}
	}
	if c.Jobs, want.Jobs = nil, nil; !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
}

// An entry with accounts is a job for each of them, which knows whose token it has. What an account
// doesn't say is as in service, but for account_id.
func TestAccounts(t *testing.T) {
	c, err := Load("testdata/good/accounts.yml", testEnv)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, j := range c.Jobs {
		s := c.ServiceOf(j.Account)
		got = append(got, fmt.Sprintf("%s %s %s: %s %q %d at %s", j.Entry, j.Name, j.Table, s.Token, s.AccountID,
			s.InFlight, s.BaseURL))
	}
	b := "${file:" + rooted.Folder(below("testdata/good", "file://.")) + "/b.token}"
	want := []string{
		`installs installs_client_a installs_client_a: ${TOKEN_A} "" 6 at https://host.example`,
		`installs installs_client_b installs_client_b: ` + b + ` "0042" 2 at https://host.example`,
		`installs installs_client_c installs_client_c: ${TOKEN_A} "3" 6 at https://host.example`,
		`slugs slugs_client_c event_slugs_client_c: ${TOKEN_A} "3" 6 at https://host.example`,
		`slugs slugs_client_a event_slugs_client_a: ${TOKEN_A} "" 6 at https://host.example`,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
	if told := []string{"installs_client_a", "installs_client_b",
		"installs_client_c"}; !reflect.DeepEqual(c.Notify[0].Jobs, told) {
		t.Errorf("told of %v, want %v", c.Notify[0].Jobs, told)
	}
	if own := c.ServiceOf(""); own.AccountID != "7" || own.Account != "" {
		t.Errorf("without an account: %+v", own)
	}
}

func TestMerge(t *testing.T) {
	c, err := Load("testdata/good/merge_list.yml", testEnv)
	if err != nil {
		t.Fatal(err)
	}
	second := c.Jobs[1]
	want := map[string][]string{"app_token__in": {"a"}, "country_code__in": {"DE"}}
	if second.Name != "second" || second.Report.Until != "today" || second.Report.Start.DaysAgo != 7 ||
		!reflect.DeepEqual(second.Report.Filters, want) {
		t.Errorf("%+v %+v", second, second.Report)
	}
	if c.Jobs[0].Report.Until != "yesterday" || c.Ledger != below("testdata/good", "file://./state") {
		t.Errorf("%+v", c)
	}
}

func TestErrorsHavePlaces(t *testing.T) {
	_, err := Parse("f.yml", []byte("service: embedded\njobs:\n- {name: a}\n"), testEnv)
	var first *strict.Error
	if !errors.As(err, &first) {
		t.Fatalf("%T %v", err, err)
	}
	if first.File != "f.yml" || first.Line != 3 || first.Col != 3 {
		t.Errorf("%+v", first)
	}
}

func TestLoadNothing(t *testing.T) {
	if _, err := Load("testdata/none.yml", testEnv); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestApps(t *testing.T) {
	c, err := Load("testdata/good/apps.yml", testEnv)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Jobs[0]; got.Table != "apps_log" || !reflect.DeepEqual(got.Apps,
		&kinds.Apps{File: "testdata/good/apps/good/full.yml", TicketWait: 90 * time.Second}) {
		t.Errorf("%+v %+v", got, got.Apps)
	}
	if got := c.Jobs[1].Apps; !reflect.DeepEqual(got, &kinds.Apps{File: "/etc/reportferry/apps.yaml",
		TicketWait: 15 * time.Minute}) {
		t.Errorf("%+v", got)
	}
}

// ${NAME} is filled in wherever a text may stand, and never in a token, which is looked up when it
// is needed.
func TestVariables(t *testing.T) {
	c, err := Load("testdata/good/variables.yml", testEnv)
	if err != nil {
		t.Fatal(err)
	}
	j := c.Jobs[0]
	for what, pair := range map[string][2]string{
		"base_url": {c.Service.BaseURL, "https://my-bucket.example.com"}, "token": {c.Service.Token, "${ADJUST_TOKEN}"},
		"account_id": {c.Service.AccountID, "12my-bucket"}, "ledger": {c.Ledger, "gs://my-bucket/ledger"},
		"spool_dir": {c.SpoolDir, "/var/${tmp}/my-bucket"}, "schedule": {j.Schedule, "0 6 * * *"},
		"sinks": {strings.Join(j.Sinks, " "),
			"gs://my-bucket/a s3://my-bucket?region=eu&x=S3CRET-of-the-environment"},
		"filter":  {strings.Join(j.Report.Filters["campaign__contains"], " "), "my-bucket"},
		"a list":  {strings.Join(j.Report.Filters["network__not_in"], " "), "installs b"},
		"metrics": {strings.Join(j.Report.Metrics, " "), "installs"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %q, want %q", what, pair[0], pair[1])
		}
	}
}
