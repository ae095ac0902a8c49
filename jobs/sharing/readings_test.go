//go:build !fuzz

package sharing

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/outbox/files"
)

// putLines writes the file of today as JSON Lines; APP stands for the app's token.
func (r *rig) putLines(t *testing.T, name string, lines ...string) {
	t.Helper()
	key := time.Now().UTC().Format(time.DateOnly) + "/" + name
	text := strings.ReplaceAll(strings.Join(lines, "\n")+"\n", "APP", r.app)
	if err := r.source.WriteAll(context.Background(), key, []byte(text), nil); err != nil {
		t.Fatal(err)
	}
}

// devices are the IDs of what the service took, in order, with what was said of them.
func (r *rig) devices(t *testing.T) string {
	t.Helper()
	var list []string
	if err := r.server.SharingLog(func(a emulator.SharingArrival) bool {
		list = append(list, strings.Join(strings.Fields(strings.Join([]string{a.IDFA, a.GPSADID, a.Sharing, a.Settings,
			a.Options}, " ")), " "))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(list, ", ")
}

// Under each reading the records that the service takes arrive once and in order, those that it
// doesn't are in the rejects with its words, and a refused credential stops the job before anything
// is lost.
func TestPushUnderReadings(t *testing.T) {
	slow.Test(t)
	record := func(device, rest string) string { return `{"app_token":"APP","idfa":"` + device + `",` + rest + `}` }
	settings := func(device, partner string) string {
		return record(device, `"partner_sharing_settings":{"`+partner+`":{"event":false}}`)
	}
	const off = `"sharing":"disable"`
	partners := []string{settings("device-1", "34"), settings("device-2", "facebook"),
		settings("device-3", "Facebook (34)"), settings("device-4", "all")}
	half := []string{record("device-1", off+`,"partner_sharing_settings":{"nobody":{"event":false}}`),
		record("device-1", `"sharing":"enable"`)}
	strangers := []string{strings.Replace(record("device-1", off), "APP", "nosuchapp", 1), record("device-2", off)}
	both := []string{`{"app_token":"APP","gps_adid":"device-g",` + off + `}`,
		`{"app_token":"APP","idfa":"device-i","gps_adid":"device-g","sharing":"enable"}`, record("device-i", off)}
	for _, c := range []struct {
		reading string
		lines   []string
		arrive  string
		rejects []string // words, one for each row of them
		denied  bool
	}{
		{"sharing-partner=any", partners,
			"device-1 facebook.event=0, device-2 facebook.event=0, device-3 facebook.event=0, device-4 all.event=0",
			nil, false},
		{"sharing-partner=id", partners, "device-1 facebook.event=0, device-4 all.event=0", []string{
			"2,,the service answered 400: Third party sharing failed (Unknown partner: facebook)",
			"3,,the service answered 400: Third party sharing failed (Unknown partner: Facebook (34))"}, false},
		{"sharing-partner=name", partners, "device-2 facebook.event=0, device-4 all.event=0", []string{
			"1,,the service answered 400: Third party sharing failed (Unknown partner: 34)",
			"3,,the service answered 400: Third party sharing failed (Unknown partner: Facebook (34))"}, false},
		{"sharing-ok=ok", strangers[1:], "device-2 disable", nil, false},
		{"sharing-ok=success", strangers[1:], "device-2 disable", nil, false},
		{"sharing-ok=text", strangers[1:], "device-2 disable", nil, false},
		{"sharing-ok=empty", strangers[1:], "device-2 disable", nil, false},
		{"sharing-ok=204", strangers[1:], "device-2 disable", nil, false},
		{"sharing-partly=error", half, "device-1 disable, device-1 enable",
			[]string{"1,,the service took a part of it: Third party sharing partially failed (Unknown partner: " +
				"nobody)"}, false},
		{"sharing-partly=errors", half, "device-1 disable, device-1 enable",
			[]string{`Third party sharing partially failed (Unknown partner: nobody)`}, false},
		{"sharing-partly=text", half, "device-1 disable, device-1 enable",
			[]string{"1,,the service took a part of it: Third party sharing partially failed (Unknown partner: " +
				"nobody)"}, false},
		{"sharing-partly=html", half, "device-1 disable, device-1 enable",
			[]string{"Third party sharing partially failed (Unknown partner: nobody)"}, false},
		{"sharing-partly=empty", half, "device-1 disable, device-1 enable",
			[]string{"1,,the service took a part of it, and doesn't say which,"}, false},
		{"sharing-refusal=400", strangers, "device-2 disable",
			[]string{"1,,the service answered 400: Third party sharing failed (App not found)"}, false},
		{"sharing-refusal=sibling", strangers, "device-2 disable",
			[]string{"1,,the service answered 404: App token not found"}, false},
		{"sharing-refusal=403", strangers, "device-2 disable", []string{"1,,the service answered 403: App is inactive"},
			false},
		{"sharing-refusal=422", strangers, "device-2 disable", []string{"App not found"}, false},
		{"sharing-auth=400", strangers[1:], "", nil, true},
		{"sharing-auth=401", strangers[1:], "", nil, true},
		{"sharing-auth=403", strangers[1:], "", nil, true},
		{"sharing-auth=202", strangers[1:], "", nil, true},
		{"sharing-both=two", both, "device-g disable, device-i device-g enable, device-i disable", nil, false},
		{"sharing-both=one", both, "device-g disable, device-i device-g enable, device-i disable", nil, false},
		{"sharing-form=anywhere", []string{record("device-1",
			`"granular_third_party_sharing_options":{"google_dma":{"eea":1}}`)}, "device-1 google_dma.eea=1", nil,
			false},
		{"sharing-form=json-options", []string{record("device-1",
			off+`,"granular_third_party_sharing_options":{"google_dma":{"eea":1}}`)}, "device-1 disable", []string{
			"1,,the service took a part of it: Third party sharing partially failed (Invalid " +
				"granular_third_party_sharing_options)"}, false},
	} {
		t.Run(c.reading, func(t *testing.T) {
			// The rejects hold the words of both.
			o, key := emulator.Options{Readings: []string{"sharing-partly=error", "sharing-refusal=400", c.reading}}, ""
			if c.denied {
				o.SharingTokens, key = map[string]string{"right": ""}, "wrong"
			}
			r := newRig(t, o, key)
			r.o.InFlight = 1
			r.o.MaxRejects = nil
			r.putLines(t, "a.jsonl", c.lines...)
			res := r.run()
			if (len(res.Errs) == 1 && jobs.Denied(res.Errs[0])) != c.denied || !c.denied && len(res.Errs) > 0 {
				t.Errorf("%v", res.Errs)
			}
			if !c.denied && res.Outcome.Requests != int64(len(c.lines)) {
				t.Errorf("%d requests for %d records", res.Outcome.Requests, len(c.lines))
			}
			if got := r.devices(t); got != c.arrive {
				t.Errorf("arrived %s\nwant %s", got, c.arrive)
			}
			rows := slices.Collect(strings.Lines(r.rejected(t, 0, "a.jsonl")))
			if len(rows) != len(c.rejects) {
				t.Fatalf("rejects %q, want %q", rows, c.rejects)
			}
			for i, want := range c.rejects {
				if !strings.Contains(rows[i], want) {
					t.Errorf("reject %q, want %q", rows[i], want)
				}
			}
			r.private(t)
			if res := r.run(); !c.denied && (len(res.Errs) > 0 || res.Outcome.Requests > 0) {
				t.Errorf("again: %+v", res)
			}
		})
	}
}

// A record with both IDs is one request, and keeps its place among the records of both: in its
// file, in a later file that an earlier day's comes after, and in one that has grown.
func TestBothIDs(t *testing.T) {
	r := newRig(t, emulator.Options{}, "")
	gps := func(device, choice string) string {
		return `{"app_token":"APP","gps_adid":"` + device + `","sharing":"` + choice + `"}`
	}
	idfa := func(device, choice string) string {
		return `{"app_token":"APP","idfa":"` + device + `","sharing":"` + choice + `"}`
	}
	both := `{"app_token":"APP","idfa":"DEVICE-I","gps_adid":"device-g","sharing":"enable"}`
	lines := []string{gps("device-g", "disable"), idfa("device-i", "disable"), both, gps("device-g", "disable")}
	r.putLines(t, "a.jsonl", lines...)
	if res := r.run(); len(res.Errs) > 0 || res.Outcome.Rows != 4 || res.Outcome.Requests != 4 {
		t.Fatalf("%+v", res)
	}
	got := r.devices(t)
	want := "device-g disable, DEVICE-I device-g enable, device-g disable"
	if left := strings.Replace(got, "device-i disable, ", "", 1); left != want ||
		strings.Index(got, "device-i disable") > strings.Index(got, "DEVICE-I") {
		t.Errorf("arrived %s", got)
	}
	r.putLines(t, "a.jsonl", append(lines, both)...)
	if res := r.run(); len(res.Errs) > 0 || res.Outcome.Requests != 1 {
		t.Errorf("it has grown: %+v", res)
	}
	r.put(t, 1, "late.csv", "APP,device-i,disable,", "APP,device-x,disable,")
	if res := r.run(); len(res.Errs) > 0 || res.Outcome.Requests != 1 {
		t.Errorf("late: %+v", res)
	}
	if got := r.rejected(t, 1, "late.csv"); !strings.Contains(got, "1,,comes after a file of a later day") {
		t.Errorf("rejects %q", got)
	}
	r.private(t)
}

// The same choice is the same whatever the partner is called, and in whichever form the file has
// it; a later record of the same partner under another name goes over it.
func TestNamesOfAPartner(t *testing.T) {
	r := newRig(t, emulator.Options{Readings: []string{"sharing-partner=any"}}, "")
	names := []string{"facebook", "Facebook", "FAcebook", "partner_3", "Partner_3", "34", "Facebook (34)",
		" facebook  ( 34 ) ", "Facebook Corp (34)"}
	var lines, devices []string
	want := ""
	for i, named := range names {
		forms := fmt.Sprintf(`{"partnerName":%q,"key":"session","value":false}`, named)
		for form, text := range map[string]string{
			"object": fmt.Sprintf(`{%q:{"session":false}}`, named), "form object": forms,
			"form objects": "[" + forms + "]",
		} {
			s, strange, err := NewPartners(nil).ParseSettings(text)
			if err != nil || strange {
				t.Fatalf("%s as %s: %v, strange %t", named, form, err, strange)
			}
			state, got := NewPartners(nil).NewState(), ""
			state.Apply("", Settings{"facebook": {"install": true, "event": false}})
			state.Apply("", s)
			for _, m := range Metrics {
				got += fmt.Sprintln(state.Explain("facebook", m))
			}
			if want == "" {
				want = got
			}
			if got != want || !strings.Contains(got, "facebook.session is false") {
				t.Errorf("%s as %s:\n%s", named, form, got)
			}
		}
		if i == len(names)-1 {
			continue // another name beside the ID: whether the service minds is its own matter
		}
		next := names[(i+1)%(len(names)-1)]
		device := fmt.Sprint("device-", i)
		devices = append(devices, device)
		lines = append(lines, fmt.Sprintf(
			`{"app_token":"APP","idfa":%q,"partner_sharing_settings":[{"partnerName":%q,"key":"all","value":"false"}]}`,
			device, named),
			fmt.Sprintf(`{"app_token":"APP","idfa":%q,"partner":%q,"metric":"all","value":true}`, device, next))
	}
	r.putLines(t, "a.jsonl", lines...)
	if res := r.run(); len(res.Errs) > 0 || res.Outcome.Rows != int64(len(lines)) ||
		strings.Contains(r.log.String(), "aren't known") {
		t.Errorf("%+v\n%s", res, &r.log)
	}
	for _, device := range devices {
		if state := r.server.SharingOf(r.app, "idfa", device); !state.Partners["facebook"]["event"] ||
			state.Arrivals != 2 {
			t.Errorf("%s went back to an older choice: %+v", device, state)
		}
	}
}

// An ID that isn't of the form of an advertising ID is sent with a warning that says in which rows,
// or refused if the job says so.
func TestMalformedIDs(t *testing.T) {
	const good = "5f9b6c2e-0D3A-4b1c-9e2f-111111111111"
	for _, reject := range []bool{false, true} {
		r := newRig(t, emulator.Options{}, "")
		r.o.RejectMalformed = reject
		r.putLines(t, "a.jsonl",
			`{"app_token":"APP","idfa":"`+good+`","gps_adid":"`+good+`","sharing":"enable"}`,
			`{"app_token":"APP","idfa":"5F9B6C2E0D3A4B1C9E2F111111111111","sharing":"disable"}`,
			`{"app_token":"APP","idfa":"`+good+`","gps_adid":"g5f9b6c2-0D3A-4b1c-9e2f-11111111111","sharing":"disable"}`,
			`{"app_token":"APP","device_id":"someone","id_type":"idfa","sharing":"disable"}`)
		k := New(r.o)
		due, err := k.Due(t.Context(), time.Now())
		if err != nil || len(due) != 1 {
			t.Fatal(due, err)
		}
		report, err := k.Check(t.Context(), due[0])
		want := files.Problem{Refusal: files.Refusal{Reason: warnings[malformedID].reason}, Rows: 3, First: 2,
			Sent: true}
		if reject {
			want.Refusal, want.Sent = files.Refusal{Reason: noForm}, false
		}
		if err != nil && !reject || len(report.Problems) != 1 || report.Problems[0] != want {
			t.Errorf("%+v, %v; want %+v", report.Problems, err, want)
		}
		r.o.MaxRejects = nil
		if res := r.run(); len(res.Errs) > 0 || res.Outcome.Requests != map[bool]int64{false: 4, true: 1}[reject] {
			t.Errorf("reject %t: %+v", reject, res)
		}
		if log := r.log.String(); strings.Contains(log, "rows=3 first=2") == reject {
			t.Errorf("reject %t: %s", reject, log)
		}
		if got := strings.Count(r.rejected(t, 0, "a.jsonl"), noForm); got != map[bool]int{false: 0, true: 3}[reject] {
			t.Errorf("reject %t: %d rejects", reject, got)
		}
	}
}

// Whom nobody knows is sent as named, with a warning that says in which rows; a contradiction is
// nobody's.
func TestStrangePartners(t *testing.T) {
	r := newRig(t, emulator.Options{SharingPartners: []string{"new net"},
		Readings: []string{"sharing-partner=any", "sharing-refusal=400"}}, "")
	lines := []string{`{"app_token":"APP","idfa":"device-1","sharing":"enable"}`}
	for _, named := range []string{"new net", "AppLovin (34)", "google", "77"} {
		lines = append(lines, fmt.Sprintf(
			`{"app_token":"APP","idfa":"device-1","partner_sharing_settings":{%q:{"event":false}}}`, named))
	}
	r.putLines(t, "a.jsonl", lines...)
	k := New(r.o)
	due, err := k.Due(t.Context(), time.Now())
	if err != nil || len(due) != 1 {
		t.Fatal(due, err)
	}
	report, err := k.Check(t.Context(), due[0])
	if want := (files.Problem{Refusal: files.Refusal{Reason: warnings[strange].reason}, Rows: 3, First: 2,
		Sent: true}); err != nil || len(report.Problems) != 2 || report.Problems[0] != want {
		t.Errorf("%+v, %v", report.Problems, err)
	}
	if res := r.run(); len(res.Errs) > 0 || res.Outcome.Requests != 5 {
		t.Errorf("%+v", res)
	}
	if got, want := r.devices(t), "device-1 enable, device-1 new+net.event=0, device-1 google.event=0"; got != want {
		t.Errorf("arrived %s, want %s", got, want)
	}
	if got := r.rejected(t, 0, "a.jsonl"); strings.Count(got, "Unknown partner") != 2 ||
		!strings.Contains(got, "(Unknown partner: AppLovin (34))") {
		t.Errorf("rejects %q", got)
	}
	if log := r.log.String(); !strings.Contains(log, "partners that aren't known") ||
		!strings.Contains(log, "rows=3 first=2") || strings.Contains(log, "new net") {
		t.Error(log)
	}
	p := NewPartners([]string{"Net (7)", "Solo", "9"})
	for named, want := range map[string]string{"NET": "Net", "7": "Net", "net ( 7 )": "Net", "Other (7)": "Net",
		"Net (8)": "net (8)", "solo": "Solo", "Solo (4)": "Solo",
		"9": "9", "x (9)": "9", "all (5)": "all (5)", "ALL": "all", "Facebook (35)": "facebook (35)",
		"applovin (34)": "applovin (34)", "Liftoff (Vungle)": "liftoff (vungle)"} {
		one, known := p.Name(named)
		if itself := strings.Contains(want, "("); one != want || known == itself {
			t.Errorf("%s is %s, known %t; want %s", named, one, known, want)
		}
	}
}
