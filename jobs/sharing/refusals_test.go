package sharing

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"gocloud.dev/blob/memblob"

	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/outbox/files"
)

const (
	goodApp    = "abc123def456"
	goodDevice = "6f1b1c52-9d0c-4d5e-8c3d-0f3c1a2b4d5e"
)

var known = NewPartners([]string{"42", "Some Network"})

// read reads a file as the outbox does: its records, and its refusals as "row: field reason".
func read(t testing.TB, data []byte, o Options) (records []Choice, refused []string, err error) {
	t.Helper()
	ctx, bucket := context.Background(), memblob.OpenBucket(nil)
	defer bucket.Close() //nolint:errcheck // in memory
	if err := bucket.WriteAll(ctx, "x", data, nil); err != nil {
		t.Fatal(err)
	}
	if o.Partners.known == nil {
		o.Partners = known
	}
	k := &Kind{o: o, check: checker{o.Partners}}
	err = k.file(files.Path{Name: "x", Bucket: bucket, Key: "x"}, &notes{}).Read(ctx, true,
		func(r *outbox.Record[Choice]) error {
			if r.Skipped != "" {
				return nil
			}
			if r.Refusal != nil {
				refused = append(refused, fmt.Sprintf("%d: %s", r.Row,
					strings.TrimSpace(r.Refusal.Field+" "+r.Refusal.Reason)))
				return nil
			}
			records = append(records, r.Value)
			return nil
		})
	return records, refused, err
}

// Each record has one thing wrong. The reasons are exact, because people search for them, and quote
// nothing of the row.
func TestRefusals(t *testing.T) {
	good := values{appToken: goodApp, idfa: goodDevice, choice: "enable"}
	var tests []struct {
		v    values
		want string
	}
	bad := func(want string, set ...any) {
		v := good
		for i := 0; i < len(set); i += 2 {
			v[set[i].(field)] = set[i+1].(string)
		}
		tests = append(tests, struct {
			v    values
			want string
		}{v, want})
	}
	const strange = "holds something else than letters, digits, dots, dashes and underscores"
	bad("app_token is missing", appToken, "")
	bad("app_token "+strange, appToken, "abc 123")
	bad("app_token "+strange, appToken, "abc&s2s=0")
	bad("app_token holds the control character U+000D", appToken, "abc\r\nX-Token: 1")
	bad("app_token has 65 characters; at most 64", appToken, strings.Repeat("a", 65))
	bad("app_token "+strange, appToken, "äpp")
	bad("has no device: idfa, gps_adid and device_id are all empty", idfa, "")
	bad("device_id stands beside idfa; want one of the two", deviceID, "x", idType, "idfa")
	bad("device_id stands beside gps_adid; want one of the two", gpsAdID, "y", deviceID, "x", idType, "gps_adid")
	bad("gps_adid "+strange, gpsAdID, "x y")
	bad("idfa "+strange, idfa, "x y", gpsAdID, "x")
	bad("gps_adid is all zeros, as of every device that hides its ID", gpsAdID, "0000")
	bad("idfa holds the control character U+000A", idfa, goodDevice+"\nHost: x")
	bad("idfa holds the control character U+0000", idfa, "a\x00b")
	bad("idfa holds the control character U+0085", idfa, "a\u0085b")
	bad("idfa is not UTF-8", idfa, "a\xffb")
	bad("idfa "+strange, idfa, " "+goodDevice)
	bad("idfa "+strange, idfa, "a%0d%0ab")
	bad("idfa has 10485760 characters; at most 128", idfa, strings.Repeat("a", 10<<20))
	bad("idfa is all zeros, as of every device that hides its ID", idfa, "00000000-0000-0000-0000-000000000000")
	bad("gps_adid is all zeros, as of every device that hides its ID", idfa, "", gpsAdID, "0")
	for _, none := range []string{"null", "None", "nil", "NaN", "na", "undefined", "unknown", "not_set", "no-idfa",
		"idfa", "GAID", "advertising_id", "-1", "limited", "d41d8cd98f00b204e9800998ecf8427e",
		"da39a3ee5e6b4b0d3255bfef95601890afd80709", "9f89c84a559f573636a47ff8daed0d33"} {
		bad("idfa is a way of writing that there is no ID", idfa, none)
	}
	bad("idfa has neither letters nor digits", idfa, "-")
	bad("idfa is one character over and over", idfa, "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF")
	bad("gps_adid is a placeholder that the program which wrote the file hasn't filled in", idfa, "", gpsAdID,
		"__CALLBACK_ID__")
	bad("id_type is neither idfa nor gps_adid", idfa, "", deviceID, "x")
	bad("id_type is neither idfa nor gps_adid", idfa, "", deviceID, "x", idType, "idfv")
	bad("device_id "+strange, idfa, "", deviceID, "x y", idType, "idfa")
	bad("sharing is neither enable nor disable", choice, "maybe")
	bad("sharing is neither enable nor disable", choice, "true")
	bad("sharing is neither enable nor disable", choice, "DİSABLE")
	bad("sharing is neither enable nor disable", choice, "enable\r\n")
	bad("says nothing: sharing, settings and options are all empty", choice, "")

	settings := func(want, text string) { bad("partner_sharing_settings "+want, partnerSettings, text) }
	const noJSON = "isn't a JSON object of objects"
	settings(noJSON, "{")
	settings(noJSON, "facebook")
	settings("is an empty object, or holds one", "[]")
	settings(noJSON, "null")
	settings(noJSON, `{"facebook":true}`)
	settings(noJSON, `{"facebook":{"install":true}`)
	settings(noJSON, `{"facebook":{"install":true}} x`)
	settings(noJSON, `{"facebook":{"install":true}}{}`)
	settings(noJSON, `{"facebook":{install:true}}`)
	settings(noJSON, `{"facebook":{"install":tru}}`)
	const form = "has a form object without its three fields: partnerName, key and value"
	settings(form, `[{"partnerName":"facebook","key":"install"}]`)
	settings(form, `[{"partnerName":"facebook","key":"install","value":true,"more":1}]`)
	settings(form, `{"partnerName":"facebook","key":true,"value":true}`)
	settings(form, `[{"facebook":{"install":true}}]`)
	settings(noJSON, `["facebook"]`)
	settings(noJSON, `[{"partnerName":"facebook","key":"install","value":true}] x`)
	settings(noJSON, `[{"partnerName":"facebook","key":"install","value":true}`)
	settings(noJSON,
		`{"partnerName":"facebook","key":"install","value":true},{"partnerName":"facebook","key":"event","value":true}`)
	settings("has a key twice", `[{"partnerName":"facebook","partnerName":"google","key":"install"}]`)
	settings("wants true or false for metric install of partner facebook",
		`[{"partnerName":"facebook","key":"install","value":"yes"}]`)
	settings("has metric install of partner facebook twice",
		`[{"partnerName":"facebook","key":"install","value":true},{"partnerName":"facebook","key":"install","value":false}]`)
	settings("names partner facebook twice",
		`[{"partnerName":"34","key":"install","value":true},{"partnerName":"Facebook","key":"event","value":false}]`)
	settings("names partner facebook twice", `{"Facebook (34)":{"install":true},"partner_3":{"install":false}}`)
	settings("names partner number 2 twice", `{"Net (99)":{"install":true},"99":{"install":false}}`)
	settings("names partner number 2 twice", `{"net":{"install":true},"Net (99)":{"install":false}}`)
	settings("names no metric that is known: number 1 of partner number 1", `{"Net (99)":{"installs":true}}`)
	settings("has a partner whose name is missing: number 1", `{" ":{"installs":true}}`)
	settings("has a partner whose name has 129 characters; at most 128: number 1",
		`{"`+strings.Repeat("ä", 129)+`":{"installs":true}}`)
	settings("has a value that is an object, a list or null", strings.Repeat(`{"a":`, 10_000))
	settings("is an empty object, or holds one", "{}")
	settings("is an empty object, or holds one", `{"facebook":{}}`)
	settings("is longer than 65536 bytes", `{"facebook":{"install":true}}`+strings.Repeat(" ", 10<<20))
	settings("has a key twice", `{"facebook":{"install":true,"install":false}}`)
	settings("has a key twice", `{"facebook":{"install":true},"facebook":{"session":false}}`)
	settings("names partner facebook twice", `{"facebook":{"install":true},"partner_3":{"install":false}}`)
	settings("names partner facebook twice", `{"facebook":{"install":true},"Facebook":{"install":true}}`)
	settings("has a partner whose name holds the control character U+000D: number 1",
		`{"facebook\r\nX: 1":{"install":true}}`)
	settings("names no metric that is known: number 2 of partner google", `{"google":{"all":true,"Install":true}}`)
	settings("names no metric that is known: number 1 of partner all", `{"all":{"cost_update":true}}`)
	settings("wants true or false for metric install of partner facebook", `{"facebook":{"install":"true"}}`)
	settings("wants true or false for metric install of partner facebook", `{"facebook":{"install":1}}`)
	settings("has a value that is an object, a list or null", `{"facebook":{"install":null}}`)
	settings("has a value that is an object, a list or null", `{"facebook":{"install":[true]}}`)

	one := func(want, p, m, v string) { bad(want, partner, p, metric, m, value, v) }
	one("partner is missing", "", "install", "true")
	one("partner holds the control character U+000A", "face\nbook", "install", "true")
	one("metric is missing", "facebook", "", "true")
	one("metric is none that is known", "facebook", "installs", "true")
	one("value is neither true nor false", "facebook", "install", "")
	one("value is neither true nor false", "facebook", "install", "1")
	one("value is neither true nor false", "facebook", "install", "faLſe")
	bad("partner_sharing_settings stands beside partner, metric and value; want one or the other",
		partnerSettings, `{"facebook":{"install":true}}`, partner, "google", metric, "all", value, "true")

	granular := func(want, text string) { bad("granular_third_party_sharing_options "+want, options, text) }
	granular(noJSON, `{"google_dma":"eea"}`)
	granular("is an empty object, or holds one", `{"google_dma":{}}`)
	granular("has options of all, which is no partner: number 1", `{"all":{"a":"1"}}`)
	granular("has a group twice: number 2", `{"google_dma":{"eea":"1"},"partner_dma":{"eea":"0"}}`)
	granular("has a group twice: number 2", `{"254":{"a":"1"},"Google":{"a":"0"}}`)
	granular("names no option that is known: number 1 of group number 1", `{"google_dma":{"EEA":"1"}}`)
	granular("has an option that is none of [0 1]: number 2 of group number 1", `{"google_dma":{"eea":"1","npa":"2"}}`)
	granular("has an option that is none of [0 1]: number 1 of group number 1", `{"partner_dma":{"eea":""}}`)
	granular("has an option that is none of [0 1000 1001 1002]: number 1 of group number 1",
		`{"facebook":{"data_processing_options_state":"1003"}}`)
	granular("names no option that is known: number 1 of group number 1", `{"partner_3":{"x":"1"}}`)
	granular("has an option that holds the control character U+000A: number 1 of group number 2",
		`{"google_dma":{"eea":"1"},"tiktok":{"a":"b\nc"}}`)
	granular("has an option that holds the control character U+0000: number 1 of group number 1",
		`{"tiktok":{"a\u0000":"b"}}`)
	granular("has a value that is an object, a list or null", `{"tiktok":{"a":{}}}`)
	if len(tests) < 60 {
		t.Fatalf("%d records, want at least 60", len(tests))
	}
	t.Logf("%d bad records", len(tests))
	c := checker{known}
	if _, refused := c.record(&good); refused != nil {
		t.Fatalf("the good one: %v", refused)
	}
	for _, test := range tests {
		_, refused := c.record(&test.v)
		short := fmt.Sprintf("%.200q", test.v)
		if refused == nil {
			t.Errorf("%s is taken, want: %s", short, test.want)
		} else if refused.Error() != test.want {
			t.Errorf("%s: got %q, want %q", short, refused.Error(), test.want)
		} else if strings.Contains(refused.Error(), goodDevice) {
			t.Errorf("%s: the reason quotes the device", short)
		}
	}
}

// What is right, and how it is sent.
func TestRecords(t *testing.T) {
	records, refused, err := read(t, []byte(`{"app_token":"a","idfa":"X-1","sharing":"DISABLE"}
{"app_token":"a","device_id":"y","id_type":"gps_adid","partner_sharing_settings":{"google":{"session":false,"install":true},"42":{"all":false}}}
{"app_token":"a","gps_adid":"y","partner":"Some Network","metric":"all","value":true}
{"app_token":"a","gps_adid":"y","granular_third_party_sharing_options":"{\"tiktok\":{\"a b\":\"<1>\"},\"google_dma\":{\"eea\":1,\"npa\":false}}"}
{"app_token":"a","idfa":"x-1","gps_adid":"Y","sharing":"disable"}
{"app_token":"a","device_id":"x-2","id_type":"idfa","gps_adid":"y","sharing":"enable"}
{"app_token":"a","idfa":"x","partner_sharing_settings":[{"partnerName":"AppLovin (34)","key":"session","value":false},{"value":"TRUE","key":"install","partnerName":"AppLovin (34)"},{"partnerName":99,"key":"event","value":"false"}]}
{"app_token":"a","idfa":"x","partner_sharing_settings":"{\"partnerName\":\" Nét (7)\",\"key\":\"all\",\"value\":false}"}
{"app_token":"a","idfa":"x","partner":"gogle","metric":"all","value":false}
{"app_token":"a","idfa":"x","granular_third_party_sharing_options":{"99":{"a":1}}}
`), Options{})
	want := []Choice{
		{App: "a", IDFA: "X-1", Choice: "disable"},
		{App: "a", GPSAdID: "y", Partners: `{"42":{"all":false},"google":{"install":true,"session":false}}`},
		{App: "a", GPSAdID: "y", Partners: `{"Some Network":{"all":true}}`},
		{App: "a", GPSAdID: "y", Options: `{"google_dma":{"eea":"1","npa":"0"},"tiktok":{"a b":"<1>"}}`},
		{App: "a", IDFA: "x-1", GPSAdID: "Y", Choice: "disable"},
		{App: "a", IDFA: "x-2", GPSAdID: "y", Choice: "enable"},
		{App: "a", IDFA: "x", Partners: `{"99":{"event":false},"AppLovin (34)":{"install":true,"session":false}}`,
			Strange: true},
		{App: "a", IDFA: "x", Partners: `{"Nét (7)":{"all":false}}`, Strange: true},
		{App: "a", IDFA: "x", Partners: `{"gogle":{"all":false}}`, Strange: true},
		{App: "a", IDFA: "x", Options: `{"99":{"a":"1"}}`, Strange: true},
	}
	if err != nil || refused != nil || fmt.Sprintf("%+v", records) != fmt.Sprintf("%+v", want) {
		t.Errorf("got %+v %q %v\nwant %+v", records, refused, err, want)
	}
	if len(records) != len(want) {
		t.FailNow()
	}
	ids := func(n int) [2][16]byte { id, also := records[n].IDs(); return [2][16]byte{id, also} }
	none := [16]byte{}
	if ids(0) != [2][16]byte{ids(4)[0], none} || ids(1) != [2][16]byte{ids(4)[1], none} || ids(1) != ids(2) ||
		ids(0) == ids(1) || records[1].Content() == records[2].Content() {
		t.Error("a device is known by its ID, its type and its app, however the ID is written")
	}
	if records[0].Content() == records[4].Content() {
		t.Error("a record that gets a second ID is the one that was sent")
	}
}

// Files that aren't as they should be stop before anything is sent; none of the errors quotes them.
func TestFiles(t *testing.T) {
	ok := goodApp + "," + goodDevice + ",enable\n"
	for _, test := range []struct{ name, data, want string }{
		{"good", "app_token,idfa,sharing\n" + ok, ""},
		{"misspelt", "app_token,idfa,sharing,partner_sharing_setings\n" + ok,
			"no field is taken from the column \"partner_sharing_setings\"; is its name misspelt, or not among " +
				"those to ignore?"},
		{"ignored", "app_token,idfa,sharing,exported_at\n" + goodApp + "," + goodDevice + ",enable,x\n", ""},
		{"no app", "idfa,sharing\n" + goodDevice + ",enable\n",
			`none of its columns idfa, sharing is "app_token", which app_token is taken from. Say which column it is with columns: {app_token: NAME}, or give all rows one value with constants: {app_token: VALUE}.`},
		{"no names", ok,
			`none of its 3 columns is "app_token", which app_token is taken from; is the row of names missing?`},
		{"twice", "app_token,idfa,idfa\n" + ok, `two of its columns are "idfa", which idfa is taken from`},
		{"a cell of 10 MB", "app_token,idfa,sharing\n" + goodApp + "," + strings.Repeat("x", 10<<20) + ",enable\n",
			"row 1 is longer than 262144 bytes; is a quote or a line end missing?"},
		{"a line of 10 MB", `{"app_token":"` + strings.Repeat("x", 10<<20),
			"row 1 is longer than 262144 bytes; is a quote or a line end missing?"},
		{"empty", "", "is empty: not even names of columns"},
		{"UTF-16", "\xff\xfea\x00",
			`none of its 1 columns is "app_token", which app_token is taken from; is the row of names missing?`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, refused, err := read(t, []byte(test.data), Options{Ignore: []string{"exported_at"}})
			if got := strings.TrimPrefix(fmt.Sprint(err), "<nil>"); got != test.want || refused != nil {
				t.Errorf("%v %q, want %q", err, refused, test.want)
			}
		})
	}
	_, refused, err := read(t, []byte(`{"app_token":"a","idfa":"x","sharing":"enable","exported_at":1}
{"app_token":"a","idfa":"x","sharng":"disable"}
{"app_token":"a","idfa":{"x":1},"sharing":"enable"}
{"app_token":"a","idfa":"x","idfa":"y","sharing":"enable"}
{"app_token":"a"
`), Options{Ignore: []string{"exported_at"}})
	want := []string{
		"2: has a key that no field is taken from, and that isn't among those to ignore",
		"3: idfa is an object or a list; want a text or a number", "4: idfa stands twice", "5: isn't a JSON object",
	}
	if err != nil || strings.Join(refused, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q %v", refused, err)
	}
}

// FuzzReader: a record obeys the rules whatever it was read from, can be read from what is sent of
// it, and no refusal quotes a row.
func FuzzReader(f *testing.F) {
	f.Add([]byte("app_token,idfa,sharing\na,x,enable\na,y,\n"))
	f.Add([]byte(`{"app_token":"a","gps_adid":"y","partner_sharing_settings":{"google":{"session":false}}}` + "\n"))
	f.Add(
		[]byte(
			`{"app_token":"a","device_id":"y","id_type":"idfa","granular_third_party_sharing_options":"{\"google_dma\":{\"eea\":\"1\"}}"}`))
	f.Add([]byte("app_token,gps_adid,partner,metric,value\na,\"x\",all,all,false\n"))
	f.Add(
		[]byte(
			`{"app_token":"a","idfa":"x","gps_adid":"y","partner_sharing_settings":[{"partnerName":"Net (99)","key":"session","value":"true"}]}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		records, _, err := read(t, data, Options{})
		again, _, err2 := read(t, data, Options{})
		if fmt.Sprint(records, err) != fmt.Sprint(again, err2) {
			t.Fatalf("%+v %v\nthen %+v %v", records, err, again, err2)
		}
		for _, r := range records {
			v := values{appToken: r.App, idfa: r.IDFA, gpsAdID: r.GPSAdID, choice: r.Choice,
				partnerSettings: r.Partners, options: r.Options}
			sent, refused := checker{known}.record(&v)
			if refused != nil || sent != r {
				t.Fatalf("%+v would be sent, and isn't right: %v, %+v", r, refused, sent)
			}
			for _, s := range []string{r.App, r.IDFA, r.GPSAdID, r.Choice, r.Partners, r.Options} {
				if bytes.ContainsAny([]byte(s), "\r\n\x00") {
					t.Fatalf("%+v holds a line end", r)
				}
			}
		}
	})
}
