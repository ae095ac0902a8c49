package apps

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestEqual(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`1`, `1`, true}, {`1`, `1.0`, true}, {`1`, `2`, false}, {`1`, `"1"`, false},
		{`12345678901234567890`, `12345678901234567891`, false},
		{`{"a":[1,{"b":null}]}`, `{"a":[1.0,{"b":null}]}`, true}, {`{"a":null}`, `{}`, false},
		{`[1,2]`, `[2,1]`, false}, {`[1]`, `{"a":1}`, false}, {`true`, `"true"`, false},
	} {
		if got := equal(canonical(json.RawMessage(c.a)), canonical(json.RawMessage(c.b))); got != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
}

// Nothing that may be a credential is left, wherever it stands.
func TestMask(t *testing.T) {
	var v any
	text := `{"channel_setup": {"ironsource": {"password": "zz", "advertiser_id": "77"}, "applovin": {"sdk_keys": ["zz"]}, "facebook": {"app_id": "1", "new": "zz"}, "later": {"id": "zz"}},
		"partners": [{"name": "chartboost", "revenue_forwarding": true, "channel_setup": {"app_id": "2", "token": "zz"}}],
		"events": [{"name": "purchase", "token": "abc123"}],
		"sdk_secrets": {"secrets": [{"id": 1, "value": ["zz", "zz"]}]},
		"csv_upload_settings": {"credentials": {"key": "zz", "secret": "zz"}, "bucket": "b"},
		"purchase_verification": {"ios_shared_secret": "zz"},
		"callbacks": [{"id": "global", "url": "https://user:zz@host/?app={app}&api_key=zz&id={gps_adid}&signature=zz"}]}`
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(Mask(v))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(out), "zz") {
		t.Errorf("%s", out)
	}
	for _, kept := range []string{`"advertiser_id":"77"`, `"app_id":"1"`, `"app_id":"2"`, `"token":"abc123"`,
		`"bucket":"b"`, "id={gps_adid}", "app={app}", `"id":1`} {
		if !strings.Contains(strings.ReplaceAll(string(out), `\u0026`, "&"), kept) {
			t.Errorf("%s is gone: %s", kept, out)
		}
	}
}

func TestSecretIsNeverPrinted(t *testing.T) {
	s := Secret("zz-value")
	data, err := json.Marshal(map[string]any{"s": s})
	if err != nil {
		t.Fatal(err)
	}
	a := App{IOSSecret: s, Overrides: map[string]any{"s2s": map[string]any{"k": s}}}
	text := fmt.Sprintf("%s %v %+v %#v %q %x %d %s %+v %#v", s, s, s, s, s, s, s, data, a, a)
	if strings.Contains(text, "zz") || strings.Contains(text, "7a7a") {
		t.Error(text)
	}
}

func TestMaskCSV(t *testing.T) {
	const text = "app_token,app_name,section,setting,value\n" +
		"a,\"Ga,me\",partners,ironsource.channel_setup.password,zz\na,G,partners," +
		"ironsource.channel_setup.advertiser_id,7\n" +
		"a,G,partners,applovin.channel_setup.sdk_keys.0,zz\na,G,csv_upload_settings,credentials.secret.inner,zz\na," +
		"G,csv_upload_settings,bucket,b\n" +
		"a,G,callbacks,global.url,https://x/?token=zz&a={b}\na,G,events,purchase.token,abc123\n"
	var out strings.Builder
	if err := MaskCSV(&out, strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("token=zz", "token=***", ",zz", ",(not shown)").Replace(text)
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
	if err := MaskCSV(&out, strings.NewReader("")); err != nil {
		t.Errorf("nothing: %v", err)
	}
}
