package sharing_test

import (
	"encoding/csv"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/emulator/sharing"
	"github.com/reportferry/reportferry/internal/slow"
)

// A partner is the same one however it is named, and in whichever form the setting comes.
func TestSharingNamesOfAPartner(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 2})
	var want emulator.SharingState
	for i, named := range []string{"facebook", "Facebook", "fACEBooK", "partner_3", "Partner_3", "34", "Facebook (34)",
		"facebook (34)", "partner_3(34)", " Facebook  ( 34 ) "} {
		forms := fmt.Sprintf(`{"partnerName":%q,"key":"session","value":false}`, named)
		at := func(field string) string { return sharing.SettingsName + "[0][" + field + "]" }
		for form, body := range map[string]string{
			"object": gpsForm + "&" + emutest.Form(sharing.SettingsName,
				fmt.Sprintf(`{%q:{"session":false}}`, named)),
			"form object":  gpsForm + "&" + emutest.Form(sharing.SettingsName, forms),
			"form objects": gpsForm + "&" + emutest.Form(sharing.SettingsName, "["+forms+"]"),
			"brackets": gpsForm + "&" + emutest.Form(at("partnerName"), named, at("key"), "session", at("value"),
				"false"),
			"JSON body": `{"s2s":1,"app_token":"APP","gps_adid":"` + aDevice + `","` + sharing.SettingsName + `":` +
				"[" + forms + "]}",
		} {
			check(t, s.ResetSharing())
			if status, answer := postSharing(s, "", body); status != 200 {
				t.Errorf("%s as %s: %d %s", named, form, status, answer)
			}
			got := s.SharingOf(s.Apps()[0].Token, "gps_adid", aDevice)
			if i == 0 {
				want = got
			}
			if !reflect.DeepEqual(got, want) || len(off(got, "facebook")) != 7 {
				t.Errorf("%s as %s: %v", named, form, off(got, "facebook"))
			}
		}
	}
}

// Whom a report calls 34 is whom sharing calls 34.
func TestSharingAndReportsAgreeOnPartnerIDs(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 4, Days: 4})
	body := emutest.Get(t, s, "csv_report?dimensions=partner_id,partner_name,partner&metrics=installs"+
		"&date_period=-4d:-1d", 200)
	rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	check(t, err)
	compared := 0
	for _, row := range rows[1:] {
		id, name, slug := row[0], row[1], row[2]
		if slug == "organic" || slug == "unknown" {
			continue
		}
		if id == "34" && name != "Facebook" {
			t.Errorf("34 is %s", name)
		}
		for _, named := range []string{id, name, slug, name + " (" + id + ")"} {
			check(t, s.ResetSharing())
			if status, answer := postSharing(s, "", gpsForm+"&"+emutest.Form(sharing.SettingsName,
				fmt.Sprintf(`{%q:{"event":false}}`, named))); status != 200 {
				t.Errorf("%s: %d %s", named, status, answer)
			}
			if got := off(s.SharingOf(s.Apps()[0].Token, "", aDevice), slug); len(got) != 1 {
				t.Errorf("%s isn't %s: %q", named, slug, got)
			}
		}
		compared++
	}
	if compared < 4 {
		t.Errorf("%d partners in %q", compared, body)
	}
}

// What each reading answers, and that it takes what it says.
func TestSharingReadings(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	const (
		good    = "sharing=disable"
		tokened = "right"
	)
	setting := func(partner string) string {
		return emutest.Form(sharing.SettingsName, fmt.Sprintf(`{%q:{"event":false}}`, partner))
	}
	half := good + "&" + setting("nobody")
	options := emutest.Form(sharing.OptionsName, `{"google_dma":{"eea":"1"}}`)
	nobodys := strings.ReplaceAll(gpsForm, "APP", "nobodys")
	large := gpsForm + "&" + good + "&x=" + strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		reading, body, bearer string
		status                int
		answer                string
	}{
		{"sharing-partner=any", gpsForm + "&" + setting("Facebook (34)"), "", 200, allRight},
		{"sharing-partner=id", gpsForm + "&" + setting("34"), "", 200, allRight},
		{"sharing-partner=id", gpsForm + "&" + setting("all"), "", 200, allRight},
		{"sharing-partner=id", gpsForm + "&" + setting("facebook"), "", 400,
			sharingFailure("Unknown partner: facebook")},
		{"sharing-partner=id", gpsForm + "&" + setting("Facebook (34)"), "", 400,
			sharingFailure("Unknown partner: Facebook (34)")},
		{"sharing-partner=name", gpsForm + "&" + setting("Facebook"), "", 200, allRight},
		{"sharing-partner=name", gpsForm + "&" + setting("partner_3"), "", 200, allRight},
		{"sharing-partner=name", gpsForm + "&" + setting("34"), "", 400, sharingFailure("Unknown partner: 34")},
		{"sharing-ok=success", gpsForm + "&" + good, "", 200,
			`{"message":"Third party sharing settings were updated","status":"success"}`},
		{"sharing-ok=text", gpsForm + "&" + good, "", 200, "OK"},
		{"sharing-ok=empty", gpsForm + "&" + good, "", 200, ""},
		{"sharing-ok=204", gpsForm + "&" + good, "", 204, ""},
		{"sharing-partly=errors", gpsForm + "&" + half, "", 202,
			`{"errors":[{"message":"Third party sharing partially failed (Unknown partner: nobody)"}]}`},
		{"sharing-partly=text", gpsForm + "&" + half, "", 202,
			"Third party sharing partially failed (Unknown partner: nobody)"},
		{"sharing-partly=html", gpsForm + "&" + half, "", 202,
			"<!doctype html><title>202</title><p>Third party sharing partially failed (Unknown partner: nobody)\n"},
		{"sharing-partly=empty", gpsForm + "&" + half, "", 202, ""},
		{"sharing-refusal=400", nobodys + "&" + good, "", 400, sharingFailure("App not found")},
		{"sharing-refusal=sibling", nobodys + "&" + good, "", 404, `{"error":"App token not found"}`},
		{"sharing-refusal=sibling", large, "", 413, `{"error":"Request size too large"}`},
		{"sharing-refusal=sibling", gpsForm, "", 400,
			sharingFailure("Missing parameter: sharing, partner_sharing_settings or " +
				"granular_third_party_sharing_options")},
		{"sharing-refusal=403", nobodys + "&" + good, "", 403, `{"error":"App is inactive"}`},
		{"sharing-refusal=422", gpsForm + "&" + setting("nobody"), "", 422,
			`{"detail":[{"loc":["body"],"msg":"Unknown partner: nobody"}]}`},
		{"sharing-auth=400", gpsForm + "&" + good, "wrong", 400, sharingFailure("Failed to authorize request")},
		{"sharing-auth=401", gpsForm + "&" + good, "wrong", 401, `{"error":"Failed to authorize request"}`},
		{"sharing-auth=403", gpsForm + "&" + good, "wrong", 403, `{"error":"Failed to authorize request"}`},
		{"sharing-auth=202", gpsForm + "&" + good, "wrong", 202, "Wrong authentication token"},
		{"sharing-auth=202", gpsForm + "&" + good, "-", 202, "Missing authentication token"},
		{"sharing-auth=202", gpsForm + "&" + good, tokened, 200, allRight},
		{"sharing-form=json-options", gpsForm + "&" + options, "", 400,
			sharingFailure("Invalid granular_third_party_sharing_options")},
		{"sharing-form=json-options", gpsForm + "&" + good + "&" + options, "", 202,
			partly("Invalid granular_third_party_sharing_options")},
		{"sharing-form=json-options", `{` + jsonIDs + `,"` + sharing.OptionsName + `":{"google_dma":{"eea":"1"}}}`, "",
			200, allRight},
	} {
		o := emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 2, Readings: []string{c.reading}}
		var header []string
		if c.bearer != "" {
			o.SharingTokens = map[string]string{tokened: ""}
			if c.bearer != "-" {
				header = []string{"Authorization", "Bearer " + c.bearer}
			}
		}
		s := emutest.Open(t, o)
		status, answer := postSharing(s, "", c.body, header...)
		if status != c.status || answer != c.answer {
			t.Errorf("%s, %.120s: %d %s, want %d %s", c.reading, c.body, status, answer, c.status, c.answer)
		}
		taken := c.status < 300 && !strings.HasSuffix(c.answer, "authentication token")
		if got := s.SharingOf(s.Apps()[0].Token, "", aDevice); (got.Arrivals == 1) != taken {
			t.Errorf("%s, %.120s: %d arrivals", c.reading, c.body, got.Arrivals)
		}
	}
}

// A request with both IDs is about two devices, or about one that has them both from then on.
func TestSharingBothIDs(t *testing.T) {
	t.Parallel()
	for reading, want := range map[string][2]string{"two": {"enable disable", "enable disable"},
		"one": {"disable disable", "enable enable"}} {
		s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 2,
			Readings: []string{"sharing-both=" + reading}})
		for _, form := range []string{"gps_adid=g&sharing=disable", "gps_adid=g&idfa=i&sharing=enable",
			"idfa=i&sharing=disable"} {
			if status, answer := postSharing(s, "", "s2s=1&app_token=APP&"+form); status != 200 {
				t.Fatal(status, answer)
			}
		}
		holds := func() string {
			app := s.Apps()[0].Token
			return s.SharingOf(app, "gps_adid", "g").Sharing + " " + s.SharingOf(app, "idfa", "i").Sharing
		}
		if got := holds(); got != want[0] {
			t.Errorf("%s: %s, want %s", reading, got, want[0])
		}
		// Now the two are found to be one after both have said something, and the later one counts.
		check(t, s.ResetSharing())
		for _, form := range []string{"idfa=i&sharing=disable", "gps_adid=g&sharing=enable",
			"gps_adid=g&idfa=i&" + emutest.Form(sharing.OptionsName, `{"google_dma":{"eea":"1"}}`)} {
			if status, answer := postSharing(s, "", "s2s=1&app_token=APP&"+form); status != 200 {
				t.Fatal(status, answer)
			}
		}
		if got := holds(); got != want[1] {
			t.Errorf("%s: %s, want %s", reading, got, want[1])
		}
	}
}
