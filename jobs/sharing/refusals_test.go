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
	err = k.file(files.Path{Name: "x", Bucket: bucket, Key: "x"}).Read(ctx, true, func(r *outbox.Record[Choice]) error {
		if r.Refusal != nil {
			refused = append(refused, fmt.Sprintf("%d: %s", r.Row, strings.TrimSpace(r.Refusal.Field+" "+r.Refusal.Reason)))
			return nil
		}
		records = append(records, r.Value)
		return nil
	})
	return records, refused, err
}

// Each record has one thing wrong. The reasons are exact, because people search for them, and quote nothing of the row.
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
	bad("has several devices; give each a row of its own, for each has an order of its own", gpsAdID, "x")
	bad("has several devices; give each a row of its own, for each has an order of its own", deviceID, "x", idType, "idfa")
	bad("idfa holds the control character U+000A", idfa, goodDevice+"\nHost: x")
	bad("idfa holds the control character U+0000", idfa, "a\x00b")
	bad("idfa holds the control character U+0085", idfa, "a\u0085b")
	bad("idfa is not UTF-8", idfa, "a\xffb")
	bad("idfa "+strange, idfa, " "+goodDevice)
	bad("idfa "+strange, idfa, "a%0d%0ab")
	bad("idfa has 10485760 characters; at most 128", idfa, strings.Repeat("a", 10<<20))
	bad("idfa is all zeros, as of every device that hides its ID", idfa, "00000000-0000-0000-0000-000000000000")
	bad("gps_adid is all zeros, as of every device that hides its ID", idfa, "", gpsAdID, "0")
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
	settings(noJSON, "[]")
	settings(noJSON, "null")
	settings(noJSON, `{"facebook":true}`)
	settings(noJSON, `{"facebook":{"install":true}`)
	settings(noJSON, `{"facebook":{"install":true}} x`)
	settings(noJSON, `{"facebook":{"install":true}}{}`)
	settings(noJSON, `{"facebook":{install:true}}`)
	settings(noJSON, `{"facebook":{"install":tru}}`)
	settings(noJSON, `[{"partnerName":"facebook","key":"install","value":true}]`)
	settings("has a value that is an object, a list or null", strings.Repeat(`{"a":`, 10_000))
	settings("is an empty object, or holds one", "{}")
	settings("is an empty object, or holds one", `{"facebook":{}}`)
	settings("is longer than 65536 bytes", `{"facebook":{"install":true}}`+strings.Repeat(" ", 10<<20))
	settings("has a key twice", `{"facebook":{"install":true,"install":false}}`)
	settings("has a key twice", `{"facebook":{"install":true},"facebook":{"session":false}}`)
	settings("names partner facebook twice", `{"facebook":{"install":true},"partner_3":{"install":false}}`)
	settings("names no partner that is known: number 1; is it missing under partners?", `{"partner_14":{"install":true}}`)
	settings("names no partner that is known: number 2; is it missing under partners?", `{"facebook":{"install":true},"Facebook":{"install":true}}`)
	settings("names no partner that is known: number 1; is it missing under partners?", `{"facebook\r\nX: 1":{"install":true}}`)
	settings("names no metric that is known: number 2 of partner google", `{"google":{"all":true,"Install":true}}`)
	settings("names no metric that is known: number 1 of partner all", `{"all":{"cost_update":true}}`)
	settings("wants true or false for metric install of partner facebook", `{"facebook":{"install":"true"}}`)
	settings("wants true or false for metric install of partner facebook", `{"facebook":{"install":1}}`)
	settings("has a value that is an object, a list or null", `{"facebook":{"install":null}}`)
	settings("has a value that is an object, a list or null", `{"facebook":{"install":[true]}}`)

	one := func(want, p, m, v string) { bad(want, partner, p, metric, m, value, v) }
	one("partner is missing", "", "install", "true")
	one("partner is none that is known; is it missing under partners?", "face book", "install", "true")
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
	granular("names no group of options that is known: number 1", `{"dma":{"eea":"1"}}`)
	granular("names no group of options that is known: number 1", `{"all":{"a":"1"}}`)
	granular("names no option that is known: number 1 of group number 1", `{"google_dma":{"EEA":"1"}}`)
	granular("has an option that is none of [0 1]: number 2 of group number 1", `{"google_dma":{"eea":"1","npa":"2"}}`)
	granular("has an option that is none of [0 1]: number 1 of group number 1", `{"partner_dma":{"eea":""}}`)
	granular("has an option that is none of [0 1000 1001 1002]: number 1 of group number 1", `{"facebook":{"data_processing_options_state":"1003"}}`)
	granular("names no option that is known: number 1 of group number 1", `{"partner_3":{"x":"1"}}`)
	granular("has an option that holds the control character U+000A: number 1 of group number 2", `{"google_dma":{"eea":"1"},"tiktok":{"a":"b\nc"}}`)
	granular("has an option that holds the control character U+0000: number 1 of group number 1", `{"tiktok":{"a\u0000":"b"}}`)
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
`), Options{})
	want := []Choice{
		{"a", "idfa", "X-1", "disable", "", ""},
		{"a", "gps_adid", "y", "", `{"42":{"all":false},"google":{"install":true,"session":false}}`, ""},
		{"a", "gps_adid", "y", "", `{"Some Network":{"all":true}}`, ""},
		{"a", "gps_adid", "y", "", "", `{"google_dma":{"eea":"1","npa":"0"},"tiktok":{"a b":"<1>"}}`},
	}
	if err != nil || refused != nil || fmt.Sprint(records) != fmt.Sprint(want) {
		t.Errorf("got %q %q %v\nwant %q", records, refused, err, want)
	}
	upper := want[0]
	upper.Device = "x-1"
	if upper.ID() != want[0].ID() || want[1].ID() != want[2].ID() || want[0].ID() == want[1].ID() || want[1].Content() == want[2].Content() {
		t.Error("a device is known by its ID, its type and its app, however the ID is written")
	}
}

// Files that aren't as they should be stop before anything is sent; none of the errors quotes them.
func TestFiles(t *testing.T) {
	ok := goodApp + "," + goodDevice + ",enable\n"
	for _, test := range []struct{ name, data, want string }{
		{"good", "app_token,idfa,sharing\n" + ok, ""},
		{"misspelt", "app_token,idfa,sharing,partner_sharing_setings\n" + ok, "no field is taken from column 4 of 4; is its name misspelt, or not among those to ignore?"},
		{"ignored", "app_token,idfa,sharing,exported_at\n" + goodApp + "," + goodDevice + ",enable,x\n", ""},
		{"no app", "idfa,sharing\n" + goodDevice + ",enable\n", `none of its 2 columns is "app_token", which app_token is taken from; is the row of names missing?`},
		{"no names", ok, `none of its 3 columns is "app_token", which app_token is taken from; is the row of names missing?`},
		{"twice", "app_token,idfa,idfa\n" + ok, `two of its columns are "idfa", which idfa is taken from`},
		{"a cell of 10 MB", "app_token,idfa,sharing\n" + goodApp + "," + strings.Repeat("x", 10<<20) + ",enable\n", "row 1 is longer than 262144 bytes; is a quote or a line end missing?"},
		{"a line of 10 MB", `{"app_token":"` + strings.Repeat("x", 10<<20), "row 1 is longer than 262144 bytes; is a quote or a line end missing?"},
		{"empty", "", "is empty: not even names of columns"},
		{"UTF-16", "\xff\xfea\x00", "is UTF-16; want UTF-8"},
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

// FuzzReader: a record obeys the rules whatever it was read from, can be read from what is sent of it, and no refusal
// quotes a row.
func FuzzReader(f *testing.F) {
	f.Add([]byte("app_token,idfa,sharing\na,x,enable\na,y,\n"))
	f.Add([]byte(`{"app_token":"a","gps_adid":"y","partner_sharing_settings":{"google":{"session":false}}}` + "\n"))
	f.Add([]byte(`{"app_token":"a","device_id":"y","id_type":"idfa","granular_third_party_sharing_options":"{\"google_dma\":{\"eea\":\"1\"}}"}`))
	f.Add([]byte("app_token,gps_adid,partner,metric,value\na,\"x\",all,all,false\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		records, _, err := read(t, data, Options{})
		again, _, err2 := read(t, data, Options{})
		if fmt.Sprint(records, err) != fmt.Sprint(again, err2) {
			t.Fatalf("%q %v\nthen %q %v", records, err, again, err2)
		}
		for _, r := range records {
			v := values{appToken: r.App, idType: r.IDType, deviceID: r.Device, choice: r.Choice, partnerSettings: r.Partners, options: r.Options}
			sent, refused := checker{known}.record(&v)
			if refused != nil || sent != r {
				t.Fatalf("%q would be sent, and isn't right: %v, %q", r, refused, sent)
			}
			for _, s := range []string{r.App, r.Device, r.Choice, r.Partners, r.Options} {
				if bytes.ContainsAny([]byte(s), "\r\n\x00") {
					t.Fatalf("%q holds a line end", r)
				}
			}
		}
	})
}
