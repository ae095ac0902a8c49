package report_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/slow"
)

const week = "date_period=2026-03-01:2026-03-07" // Sunday to Saturday

func TestAwkwardNamesAreThere(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon})
	body := emutest.Get(t, s, "csv_report?dimensions=app,network,campaign,os_name&metrics=installs,network_cost"+
		"&date_period=-5d:-1d", 200)
	for _, part := range []string{`"Puzzle ""Quest"", Deluxe"`, `"line one` + "\nline two", `夏のセール`, `حملة الصيف`, `🚀`,
		`,unknown,`, `"a,""b""` + "\n,c (", ",Organic,", " padded "} {
		if !strings.Contains(body, part) {
			t.Errorf("no %q in 5 days of data", part)
		}
	}
	if strings.Contains(body, "\r") || strings.HasPrefix(body, "\ufeff") || !strings.HasSuffix(body, "\n") {
		t.Error("lines don't end in LF, or there is a BOM")
	}
	free := false
	a := emutest.Report(t, s, "day,campaign", "installs,network_cost", "date_period=-5d:-1d")
	for _, r := range a.Rows {
		free = free || r[2] == "0" && r[3] != "0.0"
	}
	if !free {
		t.Error("no row with cost and without installs")
	}
}

func TestValueForms(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon})
	const all = "installs,clicks,impressions,sessions,cost,network_cost,network_cost_diff,network_installs," +
		"network_clicks,network_impressions," +
		"network_ecpi,ecpi,ecpi_all,ad_revenue,ad_impressions,revenue,all_revenue,cohort_all_revenue,cohort_revenue," +
		"daus,maus,events," +
		"purchase_events,purchase_revenue,revenue_events,att_status_authorized,att_status_denied,reattributions," +
		"reinstalls,uninstalls," +
		"retained_users_d0,retained_users_d30,retention_rate_d1,cohort_size_d0,cohort_size_d30,paying_users_d0," +
		"paying_users_d6," +
		"all_revenue_total_d0,all_revenue_total_d120,ad_revenue_total_d7,revenue_total_d120,roas_d0,roas_d30," +
		"roas_iap_d7,roas_ad_d7," +
		"lifetime_value_d7,skad_installs,limit_ad_tracking_installs,network_installs_diff_signed," +
		"time_spent_per_user_d1,revenue_w52,revenue_m36"
	fractions := []string{"cost", "network_cost", "network_cost_diff", "network_ecpi", "ecpi", "ecpi_all", "ad_revenue",
		"revenue", "all_revenue",
		"cohort_all_revenue", "cohort_revenue", "daus", "maus", "purchase_revenue", "retention_rate_d1",
		"all_revenue_total_d0", "all_revenue_total_d120",
		"ad_revenue_total_d7", "revenue_total_d120", "roas_d0", "roas_d30", "roas_iap_d7", "roas_ad_d7",
		"lifetime_value_d7", "revenue_w52", "revenue_m36"}
	whole, fraction := regexp.MustCompile(`^-?\d+$`), regexp.MustCompile(`^-?\d+\.\d+$`)
	a := emutest.Report(t, s, "day,network", all, week)
	if got := strings.Join(a.Header, ","); got != "day,network,"+all {
		t.Fatalf("header %s", got)
	}
	for i, slug := range a.Header[2:] {
		form, zeros := whole, 0
		if slices.Contains(fractions, slug) {
			form = fraction
		}
		for _, r := range a.Rows {
			if cell := r[i+2]; !form.MatchString(cell) || form == fraction && strings.HasSuffix(cell, "0") &&
				!strings.HasSuffix(cell, ".0") {
				t.Fatalf("%s: cell %q", slug, cell)
			}
			if r[i+2] == "0" || r[i+2] == "0.0" {
				zeros++
			}
		}
		if zeros == len(a.Rows) && slug != "cohort_size_d30" && slug != "retained_users_d30" && slug != "revenue_w52" &&
			slug != "revenue_m36" {
			t.Errorf("%s is 0 everywhere", slug)
		}
	}
	organic := emutest.Report(t, s, "network", "ecpi,cost,clicks,ctr", week+"&network__in=organic").Rows
	if len(organic) != 1 || strings.Join(organic[0], "|") != "Organic|0.0|0.0|0|0.0" {
		t.Errorf("division by zero: %q", organic)
	}
}

func TestReadableNamesAndSort(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 4})
	const q = "csv_report?dimensions=day,os_name&metrics=installs,ecpi,retention_rate_d7,purchase_d1_revenue_cohort&" +
		week
	head, _, _ := strings.Cut(emutest.Get(t, s, q+"&readable_names=true&format_dates=true", 200), "\n")
	if want := "Day,OS name,Installs,eCPI (Paid Installs),7D Retention,1D Purchase (Revenue)"; head != want {
		t.Errorf("header %q, want %q", head, want)
	}
	a := emutest.Report(t, s, "day,os_name", "installs,ecpi", week+"&sort=-ecpi,os_name")
	for i := 1; i < len(a.Rows); i++ {
		if emutest.Double(t, a.Rows[i-1][3]) < emutest.Double(t, a.Rows[i][3]) {
			t.Errorf("sort=-ecpi: %q before %q", a.Rows[i-1], a.Rows[i])
		}
	}
	a = emutest.Report(t, s, "os_name,day", "installs", week+"&sort=-day")
	if first, second := a.Rows[0], a.Rows[1]; first[1] != "2026-03-07" || second[1] != "2026-03-07" ||
		first[0] >= second[0] {
		t.Errorf("sort=-day begins with %q, %q", first, second)
	}
}

func TestSpendModesAndCurrency(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3})
	sum := func(slug, more string) int64 {
		return emutest.Report(t, s, "day,campaign", slug, week+more).Sum(t, slug)
	}
	if a, b := sum("cost", "&ad_spend_mode=adjust"), sum("adjust_cost", ""); a != b || a == 0 {
		t.Errorf("adjust: cost %d, adjust_cost %d", a, b)
	}
	if a, b := sum("cost", ""), sum("adjust_cost", ""); a != b {
		t.Errorf("default: cost %d, adjust_cost %d", a, b)
	}
	network := sum("network_cost", "")
	if a := sum("cost", "&ad_spend_mode=network"); a != network {
		t.Errorf("network: cost %d, network_cost %d", a, network)
	}
	withData := 6 // networks of the account that report spend
	mixed := sum("cost", "&ad_spend_mode=mixed")
	var want int64
	a := emutest.Report(t, s, "network", "network_cost,adjust_cost", week)
	for _, r := range a.Rows {
		if r[1] != "0.0" {
			withData--
			want += emutest.Exact(t, r[1])
		} else {
			want += emutest.Exact(t, r[2])
		}
	}
	if mixed != want || withData != 0 || mixed == network {
		t.Errorf("mixed: cost %d, want %d; network %d; networks off by %d", mixed, want, network, withData)
	}
	for _, slug := range []string{"revenue", "ad_revenue", "cost", "network_cost", "revenue_total_d3", "ad_revenue_d0",
		"purchase_revenue",
		"purchase_d2_revenue_cohort", "purchase_revenue_verified_passed", "skan_purchase_revenue_est"} {
		usd, eur, idr := sum(slug, ""), sum(slug, "&currency=EUR"), sum(slug, "&currency=idr")
		toEUR, toIDR := float64(eur)/float64(usd), float64(idr)/float64(usd) // rows are cut to micros
		if toEUR < 0.919 || toEUR > 0.9201 || toIDR < 15_999 || toIDR > 16_001 {
			t.Errorf("%s: %d USD, %d EUR, %d IDR", slug, usd, eur, idr)
		}
	}
	if a, b := sum("ad_impressions", ""), sum("ad_impressions", "&currency=EUR"); a != b {
		t.Errorf("ad_impressions depend on the currency: %d, %d", a, b)
	}
}

func TestPeriods(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1})
	for _, c := range []struct{ period, first, last string }{
		{"today", "2026-03-14", "2026-03-14"},
		{"yesterday", "2026-03-13", "2026-03-13"},
		{"this_week", "2026-03-08", "2026-03-14"},
		{"last_week", "2026-03-01", "2026-03-07"},
		{"this_month", "2026-03-01", "2026-03-14"},
		{"last_month", "2026-02-01", "2026-02-28"},
		{"this_month_until_yesterday", "2026-03-01", "2026-03-13"},
		{"-3d:-1d", "2026-03-11", "2026-03-13"},
		{"-0d:-0d", "2026-03-14", "2026-03-14"},
		{"2026-03-10:-0d", "2026-03-10", "2026-03-14"},
		{"2026-02-27:2026-03-02", "2026-02-27", "2026-03-02"},
		{"2026-03-12:2026-04-30", "2026-03-12", "2026-03-14"}, // nothing after today
		{"2025-01-01:2025-11-18", "2025-11-15", "2025-11-18"}, // nothing before the 120 days
		{"today&utc_offset=%2B13:00", "2026-03-15", "2026-03-15"},
		{"yesterday&utc_offset=-13:00", "2026-03-12", "2026-03-12"},
	} {
		a := emutest.Report(t, s, "day", "clicks", "date_period="+c.period)
		if len(a.Rows) == 0 {
			t.Errorf("%s is empty", c.period)
		} else if first, last := a.Rows[0][0], a.Rows[len(a.Rows)-1][0]; first != c.first || last != c.last {
			t.Errorf("%s: %s to %s, want %s to %s", c.period, first, last, c.first, c.last)
		}
	}
}

func TestStatuses(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, MaxPairs: 12 * 5})
	const ok = "dimensions=day&metrics=installs&date_period=-2d:-1d"
	explicit := ok + "&cohort_maturity=immature&attribution_types=click,impression,engaged_ad" +
		"&attribution_source=dynamic&reattributed=all" +
		"&iap_revenue_mode=GROSS_100&ad_spend_mode=mixed&sandbox=false&currency=USD&readable_names=false" +
		"&format_dates=false&sort=day&utc_offset=%2B00:00"
	for _, c := range []struct {
		query  string
		status int
		desc   string
	}{
		{ok, 200, ""},
		{explicit, 200, ""},
		{ok + "&full_data=true", 400, "Unsupported parameter: full_data"},
		{ok + "&channel=x", 400, "Unsupported parameter: channel"},
		{ok + "&a__b=y", 400, "Unsupported parameter: a__b"},
		{"dimensions=day,day&metrics=installs,installs&date_period=-2d:-1d", 200, ""},
		{"dimensions=day&metrics=installs&date_period=2027-01-01:2027-01-02", 204, ""},
		{"dimensions=day&metrics=installs&date_period=2020-01-01:2020-01-02", 204, ""},
		{ok + "&network__in=nobody", 204, ""},
		{"metrics=installs&date_period=-2d:-1d", 400, "dimensions"},
		{"dimensions=day&date_period=-2d:-1d", 400, "metrics"},
		{"dimensions=day&metrics=installs", 400, "date_period"},
		{"dimensions=moon&metrics=installs&date_period=-2d:-1d", 400, "Unsupported dimension: moon"},
		{"dimensions=day&metrics=moons&date_period=-2d:-1d", 400, "Unsupported metric: moons"},
		{"dimensions=day&metrics=cohort_revenue_d7&date_period=-2d:-1d", 400, "Unsupported metric: cohort_revenue_d7"},
		{"dimensions=day&metrics=revenue_7d&date_period=-2d:-1d", 400, "Unsupported metric: revenue_7d"},
		{"dimensions=day&metrics=revenue_d121&date_period=-2d:-1d", 400, "Unsupported metric"},
		{"dimensions=day&metrics=daily_users&date_period=-2d:-1d", 400, "Unsupported metric"},
		{"dimensions=day&metrics=gone_events&date_period=-2d:-1d", 400, "event doesn't exist or was renamed"},
		{"dimensions=day&metrics=gone_d7_events_cohort&date_period=-2d:-1d", 400, "event doesn't exist or was renamed"},
		{ok + "&cohort_maturity=ripe", 400, "cohort_maturity"},
		{ok + "&attribution_types=touch", 400, "attribution_types"},
		{ok + "&iap_revenue_mode=NET", 400, "iap_revenue_mode"},
		{ok + "&ad_spend_mode=guess", 400, "ad_spend_mode"},
		{ok + "&currency=XYZ", 400, "currency"},
		{ok + "&cohort_maturity=Fully_Mature&attribution_types=engaged_ad&attribution_source=FIRST" +
			"&reattributed=False&iap_revenue_mode=gross_60", 200, ""},
		{ok + "&ad_revenue_sources=admob&timezone_id=Europe/Berlin&period_over_period=previous_year&index=day" +
			"&limit=1&network__contains=a&installs__gt=5", 200, ""},
		{ok + "&sandbox=true&attribution_type=all&assisting_attribution_type=all&timezone_id=6&region__in=EMEA", 200,
			""},
		{ok + "&attribution_type=engaged_ad", 400, "attribution_type"},
		{ok + "&assisting_attribution_type=both", 400, "assisting_attribution_type"},
		{ok + "&attribution_source=last", 400, "attribution_source"},
		{ok + "&reattributed=yes", 400, "reattributed"},
		{ok + "&iap_revenue_mode=GROSS_90", 400, "GROSS_95"},
		{ok + "&sandbox=1", 400, "sandbox"},
		{ok + "&format_dates=no", 400, "format_dates"},
		{ok + "&ad_revenue_sources=AdMob,Nobody", 400, "Nobody"},
		{ok + "&timezone_id=Mars/Olympus", 400, "timezone_id"},
		{ok + "&timezone_id=Local", 400, "timezone_id"},
		{ok + "&timezone_id=0", 400, "timezone_id"},
		{ok + "&timezone_id=6x", 400, "timezone_id"},
		{ok + "&timezone_id=../../etc/passwd", 400, "timezone_id"},
		{ok + "&timezone_id=UTC&utc_offset=5", 400, "utc_offset"},
		{ok + "&utc_offset=%2B14:30", 400, "utc_offset"},
		{ok + "&hour__between=10h:0h", 400, "hour__between"},
		{ok + "&hour__between=-1h:-2h", 400, "hour__between"},
		{ok + "&hour__between=-2h", 400, "hour__between"},
		{ok + "&period_over_period=last_week", 400, "previous_week"},
		{ok + "&period_over_period=2026-02-30", 400, "period_over_period"},
		{ok + "&index=network", 400, "index"},
		{ok + "&index=installs", 400, "index"},
		{ok + "&limit=0", 400, "limit"},
		{ok + "&limit=many", 400, "limit"},
		{ok + "&installs__gt=many", 400, "installs__gt"},
		{ok + "&installs__gt=NaN", 400, "not a number"},
		{ok + "&installs__gt=0x10", 400, "not a number"},
		{ok + "&installs__gt=1e999", 400, "not a number"},
		{ok + "&installs__gt=%2B1.5e1", 200, ""},
		{ok + "&installs__gt=-.5", 200, ""},
		{ok + "&installs__gt=", 200, ""},
		{ok + "&installs__gt=1e12", 204, ""},
		{ok + "&installs__contains=1", 400, "filters dimensions"},
		{ok + "&network__gt=1", 400, "filters metrics"},
		{ok + "&gone_events__gt=1", 400, "neither"},
		{ok + "&network__like=a", 400, "network__like: there is no operator"},
		{ok + "&day__between=2026-03-01:2026-03-02", 400, "day__between: there is no operator"},
		{ok + "&installs__between=1:2", 400, "installs__between: there is no operator"},
		{ok + "&network__In=a", 400, "network__In: there is no operator"},
		{ok + "&network__in__like=a", 400, "network__in__like: there is no operator"},
		{ok + "&network__=a", 400, "network__: there is no operator"},
		{ok + "&app_token__in=nosuchapp&app_token__not_in=x", 400, "no apps matching"},
		{ok + "&app_token__starts_with=%2F", 204, ""},
		{"dimensions=,&metrics=installs&date_period=-2d:-1d", 400, "dimensions"},
		{"dimensions=day&metrics=,&date_period=-2d:-1d", 400, "metrics"},
		{"dimensions=Day&metrics=installs&date_period=-2d:-1d", 400, "Unsupported dimension: Day"},
		{"dimensions=day&metrics=installs&date_period=-2d", 400, "date_period"},
		{"dimensions=day&metrics=installs&date_period=1000-01-01:9999-12-31&day__in=2026-03-01" +
			"&timezone_id=Europe/Berlin&app_token__in=" + s.Apps()[0].Token, 504, "too long"},
		{ok + "&moon__in=full", 400, "moon__in"},
		{ok + "&app_token__in=nosuchapp", 400, "no apps matching"},
		{ok + "&os_names=toaster", 400, "os_names"},
		{ok + "&sort=clicks", 400, "sort"},
		{ok + "&readable_names=perhaps", 400, "readable_names"},
		{ok + "&utc_offset=5", 400, "utc_offset"},
		{ok + "&utc_offset=%2B5:00x", 400, "utc_offset"},
		{"dimensions=day&metrics=installs&date_period=last_7_days", 400, "date_period"},
		{"dimensions=day&metrics=installs&date_period=2026-03-02:2026-03-01", 400, "date_period"},
		{"dimensions=day&metrics=installs&date_period=2026-02-30:2026-03-01", 400, "date_period"},
		{"dimensions=day&metrics=installs&date_period=-2w:-1d", 400, "date_period"},
		{"dimensions=day&metrics=installs&date_period=-4d:-0d", 200, ""},
		{"dimensions=day&metrics=installs&date_period=-5d:-0d", 504, "too long"},
		{"dimensions=day&metrics=installs&date_period=-5d:-0d&app_token__in=" + s.Apps()[0].Token, 200, ""},
	} {
		w := emutest.Ask(s, "csv_report?"+c.query)
		if w.Code != c.status {
			t.Errorf("%s: %d, want %d: %.200s", c.query, w.Code, c.status, w.Body)
			continue
		}
		switch {
		case c.status == 204 && w.Body.Len() > 0:
			t.Errorf("%s: 204 with %q", c.query, w.Body)
		case c.status >= 400:
			code, text := emutest.Desc(t, w.Body)
			if !strings.Contains(text, c.desc) || c.status == 400 && code != "request_error" || c.status == 504 &&
				code != "service_error" {
				t.Errorf("%s: %s %q, want %q", c.query, code, text, c.desc)
			}
		}
	}
	emutest.Get(t, s, "nothing", 404)
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Token: "right", Apps: 1})
	for _, c := range []struct {
		authorization, account string
		status                 int
	}{
		{"", "", 401}, {"Bearer", "", 401}, {"Bearer ", "", 401}, {"Basic right", "", 401}, {"Bearer wrong", "", 401},
		{"Bearer right", "", 200}, {"Bearer right", emulator.AccountID, 200}, {"Bearer right", "5", 403},
	} {
		for _, path := range []string{"events", "csv_report?dimensions=day&metrics=installs&date_period=yesterday"} {
			r := httptest.NewRequest(http.MethodGet, "/reports-service/"+path, nil)
			r.Header.Set("Authorization", c.authorization)
			if c.account != "" {
				r.Header.Set("X-Account-ID", c.account)
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code != c.status {
				t.Errorf("%q, account %q at %s: %d, want %d", c.authorization, c.account, path, w.Code, c.status)
			}
			if w.Code > 400 {
				if code, _ := emutest.Desc(t, w.Body); code != "auth_error" {
					t.Errorf("%d has code %q", w.Code, code)
				}
			}
		}
	}
}

func TestSpendIsRestatedByAgeAlone(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	const day = "date_period=2026-03-13:2026-03-13"
	spend := func(s *emulator.Server) string {
		return emutest.Get(t, s, "csv_report?dimensions=campaign,country_code"+
			"&metrics=network_cost,cost,ecpi_network&ad_spend_mode=network&"+day, 200)
	}
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2})
	seen := []string{spend(s)}
	for age := 2; age <= 16; age++ {
		s.Shift(11 * time.Hour) // the same day still
		for range 3 {
			if spend(s) != seen[len(seen)-1] {
				t.Fatalf("spend changed within a day, at age %d", age-1)
			}
		}
		s.Shift(13 * time.Hour)
		seen = append(seen, spend(s))
	}
	for i := 1; i < len(seen); i++ { // seen[i] is of age i+1
		if changed := seen[i] != seen[i-1]; changed != (i+1 <= 14) {
			t.Errorf("age %d: changed is %v", i+1, changed)
		}
	}
	late := emutest.Open(t, emulator.Options{Apps: 2,
		Now: func() time.Time { return emutest.Noon.Add(8 * 24 * time.Hour) }})
	if spend(late) != seen[8] {
		t.Error("a server that looks at age 9 first sees other spend than one that watched the day age")
	}
}
