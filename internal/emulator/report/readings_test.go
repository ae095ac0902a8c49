package report_test

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/emulator/report"
)

// TestReadings has what each reading of reports and events answers, beside what the first of its
// topic does. The account is the same one under all.
func TestReadings(t *testing.T) {
	t.Parallel()
	const (
		days  = "dimensions=day&metrics=installs&date_period=2026-03-01:2026-03-02&app_token__in=APP"
		dates = "dimensions=hour,day,week,month,quarter,year&metrics=installs&date_period=2026-03-01:2026-03-01" +
			"&format_dates=true&limit=1&app_token__in=APP"
		none  = "dimensions=day&metrics=installs,cost&date_period=2020-01-01:2020-01-02"
		money = "dimensions=network&metrics=installs,cost,ctr&date_period=2026-03-01:2026-03-01&app_token__in=APP"
		lost  = "dimensions=ad_account_id&metrics=installs&date_period=2026-03-01:2026-03-02&ad_account_id__in=unknown"
	)
	for choice, c := range map[string]struct {
		path   string
		status int
		kind   string   // of the answer; "": whatever it is
		has    []string // in the body
		hasNot []string
	}{
		"unknown-parameters=refuse": {"csv_report?moon=full&" + days, 400, "application/json",
			[]string{"Unsupported parameter: moon"}, nil},
		"error-body=error": {"csv_report?moon=full&" + days, 400, "application/json", []string{`{"error":"`},
			nil},
		"error-body=detail": {"csv_report?moon=full&" + days, 400, "application/json",
			[]string{`{"detail":"`}, nil},
		"error-body=text": {"csv_report?moon=full&" + days, 400, "text/plain; charset=utf-8", nil,
			[]string{"{"}},
		"unknown-parameters=ignore": {"csv_report?moon=full&" + days, 200, "text/csv; charset=utf-8",
			[]string{"day,installs\n2026-03-01,"}, nil},
		"unknown-apps=400": {"csv_report?" + strings.ReplaceAll(days, "APP", "none"), 400, "",
			[]string{"no apps matching"}, nil},
		"unknown-apps=none": {"csv_report?" + strings.ReplaceAll(days, "APP", "none"), 204, "", nil, nil},
		"list-of-apps=free": {"csv_report?dimensions=network&metrics=installs" +
			"&date_period=2026-03-02:2026-03-08", 200, "", []string{"\nAppLovin,"}, nil},
		"list-of-apps=needed": {"csv_report?dimensions=network&metrics=installs" +
			"&date_period=2026-03-02:2026-03-08", 200, "", []string{"\nOrganic,"}, []string{"AppLovin"}},
		"app-without-data=none": {"filters_data?required_filters=apps", 200, "", nil, []string{"0app0no0data"}},
		"app-without-data=empty": {"csv_report?" + strings.ReplaceAll(days, "APP", "0app0no0data"), 204, "", nil,
			nil},
		"app-without-data=400": {"csv_report?" + strings.ReplaceAll(days, "APP", "APP,0app0no0data"), 400, "",
			[]string{"there is no data of the app 0app0no0data"}, nil},
		"app-without-data=403": {"csv_report?" + strings.ReplaceAll(days, "APP", "APP,0app0no0data"), 403, "",
			[]string{"auth_error", "0app0no0data"}, nil},
		"format-dates=iso": {"csv_report?" + dates, 200, "",
			[]string{"\n2026-03-01T00:00:00,2026-03-01,2026-03-01 - 2026-03-07,2026-03,Q1 2026,2026,"}, nil},
		"format-dates=written": {"csv_report?" + dates, 200, "",
			[]string{"\n\"Mar 1, 2026 00:00\",\"Mar 1, 2026\",\"Mar 1, 2026 - Mar 7, 2026\",March 2026,Q1 2026,2026,"},
			nil},
		"week-start=sunday": {"csv_report?dimensions=week&metrics=installs&date_period=2026-03-02:2026-03-08",
			200, "", []string{"\n2026-03-01 - 2026-03-07,", "\n2026-03-08 - 2026-03-14,"}, nil},
		"week-start=monday": {"csv_report?dimensions=week&metrics=installs&date_period=2026-03-02:2026-03-08",
			200, "", []string{"\n2026-03-02 - 2026-03-08,"}, []string{"2026-03-01", "2026-03-09"}},
		"zone-names=taken": {"csv_report?timezone_id=Moon/Base&" + days, 400, "application/json",
			[]string{"neither an IANA zone"}, nil},
		"zone-names=ignored": {"csv_report?timezone_id=Moon/Base&" + days, 200, "",
			[]string{"day,installs\n2026-03-01,"}, nil},
		"report-empty=204": {"csv_report?" + none, 204, "", nil, nil},
		"report-empty=header": {"csv_report?" + none, 200, "text/csv; charset=utf-8",
			[]string{"day,installs,cost\n"}, nil},
		"report-type=csv":    {"csv_report?" + days, 200, "text/csv; charset=utf-8", nil, nil},
		"report-type=plain":  {"csv_report?" + days, 200, "text/plain; charset=utf-8", nil, nil},
		"report-type=octets": {"events", 200, "application/octet-stream", nil, nil},
		"report-type=json":   {"csv_report?" + days, 200, "application/json", nil, nil},
		"report-type=none":   {"csv_report?" + days, 200, "none", nil, nil},
		"report-form=plain": {"csv_report?" + days, 200, "", []string{"day,installs\n2026-03-01,"},
			[]string{"\r", "\"", "\n\n"}},
		"report-form=crlf": {"csv_report?" + days, 200, "", []string{"day,installs\r\n2026-03-01,"}, nil},
		"report-form=quoted": {"csv_report?" + days, 200, "",
			[]string{"\"day\",\"installs\"\n\"2026-03-01\",\""}, nil},
		"report-form=mark": {"csv_report?" + days, 200, "", []string{"\ufeffday,installs\n2026-03-01,"},
			nil},
		"report-form=blank": {"csv_report?" + days, 200, "", []string{"day,installs\n2026-03-01,", "\n\n"},
			nil},
		"report-header=asked": {"csv_report?" + days, 200, "", []string{"day,installs\n2026-03-01,"}, nil},
		"report-header=metrics-first": {"csv_report?" + days, 200, "", []string{"installs,day\n", ",2026-03-01\n"},
			nil},
		"report-header=upper":     {"csv_report?" + days, 200, "", []string{"DAY,INSTALLS\n2026-03-01,"}, nil},
		"report-numbers=decimal":  {"csv_report?" + money, 200, "", []string{",0.0,0.0\n"}, []string{"e-0"}},
		"report-numbers=shortest": {"csv_report?" + money, 200, "", []string{",0,0\n"}, []string{".0,", ".0\n"}},
		"report-numbers=float":    {"csv_report?" + money, 200, "", []string{".0,0.0,0.0\n"}, nil},
		"no-number=zero":          {"csv_report?" + money, 200, "", []string{",0.0,0.0\n"}, nil},
		"no-number=empty":         {"csv_report?" + money, 200, "", []string{",,\n"}, []string{",0.0,", ",0.0\n"}},
		"no-number=null": {"csv_report?" + money, 200, "", []string{",null,null\n"},
			[]string{",0.0,", ",0.0\n"}},
		"no-number=nan": {"csv_report?" + money, 200, "", []string{",NaN,NaN\n"},
			[]string{",0.0,", ",0.0\n"}},
		"no-value=unknown": {"csv_report?" + lost, 200, "", []string{"\nunknown,"}, nil},
		"no-value=empty":   {"csv_report?" + lost, 200, "", []string{"\n,"}, []string{"unknown"}},
		"country-code=upper": {"csv_report?dimensions=country_code&metrics=installs" +
			"&date_period=2026-03-01:2026-03-09&country_code__in=us", 200, "", []string{"\nUS,"}, nil},
		"country-code=lower": {"csv_report?dimensions=country_code&metrics=installs" +
			"&date_period=2026-03-01:2026-03-09&country_code__in=US", 200, "", []string{"\nus,"}, nil},
		"events-empty=204": {"events?events__contains=nothing", 204, "", nil, nil},
		"events-empty=list": {"events?events__contains=nothing", 200, "application/json", []string{"[]"},
			[]string{"{"}},
		"events-empty=null": {"events?events__contains=nothing", 200, "application/json", []string{"null"},
			nil},
		"events-form=whole": {"events", 200, "", []string{`"section":"conversion_events"`, `"short_name":""`,
			`"formatting":null`}, nil},
		"events-form=capitals": {"events", 200, "", []string{`"section":"Conversion events"`,
			`"formatting":"Money"`}, []string{`"section":"revenue"`}},
		"events-form=null": {"events", 200, "", []string{`"formatting":null`, `"short_name":null`},
			[]string{`:""`}},
		"events-form=absent": {"events", 200, "", []string{`"short_name":"PUR"`}, []string{`:""`, `:null`}},
		"events-form=more":   {"events", 200, "", []string{`"archived":false`}, nil},
		"events-form=object": {"events", 200, "", []string{`{"events":[{`}, nil},
		"events-under-apps=narrowed": {"events?events__contains=purchase&app_token__in=APP", 200, "",
			[]string{`"app_token":["APP"]`}, nil},
		"events-under-apps=all": {"events?events__contains=purchase&app_token__in=APP", 200, "",
			[]string{`"app_token":["APP","`}, nil},
	} {
		t.Run(choice, func(t *testing.T) {
			t.Parallel()
			s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3, Readings: []string{choice}})
			app := s.Apps()[0].Token
			w := emutest.Ask(s, strings.ReplaceAll(c.path, "APP", app))
			body := w.Body.String()
			kind := "none"
			if list := w.Header()["Content-Type"]; len(list) > 0 {
				kind = list[0]
			}
			if w.Code != c.status || c.kind != "" && kind != c.kind {
				t.Fatalf("%d of type %s, want %d of %s: %.300s", w.Code, kind, c.status, c.kind, body)
			}
			if kind == "application/json" && choice != "report-type=json" && !json.Valid(w.Body.Bytes()) {
				t.Errorf("this is no JSON: %.300q", body)
			}
			if c.status == 204 && body != "" {
				t.Errorf("204 with %q", body)
			}
			for _, text := range c.has {
				if !strings.Contains(body, strings.ReplaceAll(text, "APP", app)) {
					t.Errorf("no %q in %.500q", text, body)
				}
			}
			for _, text := range c.hasNot {
				if strings.Contains(body, text) {
					t.Errorf("%q in %.500q", text, body)
				}
			}
		})
	}
}

// A float is written as Python's repr has it: with an exponent below 1e-4 and from 1e16 on.
func TestReadingsFloats(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0.0": "0.0", "0.0001": "0.0001", "0.00009": "9e-05", "9999999999999998": "9999999999999998.0",
		"10000000000000000": "1e+16", "-10000000000000000": "-1e+16",
	} {
		if got := report.NumberAs("float", text); got != want {
			t.Errorf("%s is written %s, want %s", text, got, want)
		}
	}
}

// What only the form of an event's texts changes leaves the rest of its fields as they are.
func TestEventFormsKeepTheRest(t *testing.T) {
	t.Parallel()
	read := func(form string) (list []map[string]any) {
		s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3, Readings: []string{"events-form=" + form}})
		body := emutest.Get(t, s, "events?tokens_mapping=true", 200)
		if err := json.Unmarshal([]byte(body), &list); err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			for _, name := range []string{"short_name", "section", "formatting", "description", "increase_is_negative",
				"archived"} {
				delete(e, name)
			}
		}
		return list
	}
	want := read("whole")
	for _, form := range []string{"capitals", "null", "absent", "more"} {
		if got := read(form); !reflect.DeepEqual(got, want) || len(want) == 0 {
			t.Errorf("%s: %v\nwant %v", form, got, want)
		}
	}
}

// Rows of cohort metrics add up to a report by dates alone, or that is some percent higher; other
// metrics always add up.
func TestCohortTotals(t *testing.T) {
	t.Parallel()
	for choice, percent := range map[string]int{"none": 0, "1": 1, "8": 8} {
		t.Run(choice, func(t *testing.T) {
			t.Parallel()
			s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3,
				Readings: []string{"cohort-drift=" + choice}})
			sums := func(dimensions string) (sums [2]int) {
				body := emutest.Get(t, s,
					"csv_report?metrics=installs,retained_users_d1&date_period=2026-03-01:2026-03-01&dimensions="+dimensions, 200)
				for i, line := range strings.Split(strings.TrimSpace(body), "\n") {
					if cells := strings.Split(line, ","); i > 0 {
						for at, cell := range cells[len(cells)-2:] {
							n, err := strconv.Atoi(cell)
							if err != nil {
								t.Fatal(err)
							}
							sums[at] += n
						}
					}
				}
				return sums
			}
			rows, total := sums("day,network"), sums("day")
			if rows[0] == 0 || total[0] != rows[0] || rows[1] < 100 || total[1] != rows[1]+rows[1]*percent/100 {
				t.Errorf("the rows add up to %v, the total is %v", rows, total)
			}
		})
	}
}
