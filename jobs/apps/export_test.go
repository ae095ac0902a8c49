package apps

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/slow"
)

func masked(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	if err := MaskCSV(&out, strings.NewReader(text)); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return out.String()
}

// Exports of many shapes: what has zz in it is a credential, and all else stays.
func TestMaskCSVShapes(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"long": {"app_token,app_name,section,setting,value\na,G,partners," +
			"ironsource.channel_setup.password,zz\na,G,csv,bucket,b\n",
			"app_token,app_name,section,setting,value\na,G,partners,ironsource.channel_setup.password,(not " +
				"shown)\na,G,csv,bucket,b\n"},
		"long, other names": {"App,Parameter,Current\nMy Game,apiKey,zz\nMy Game,bucket,b\n",
			"App,Parameter,Current\nMy Game,apiKey,(not shown)\nMy Game,bucket,b\n"},
		"long, split": {"app,section,key,value\nG,csv_upload_settings,key,zz\nG,csv_upload_settings,bucket," +
			"b\n", "app,section,key,value\nG,csv_upload_settings,key,(not shown)\nG,csv_upload_settings,bucket,b\n"},
		"long, no names": {"G,applovin.channel_setup.sdk_keys.0,zz\nG,partners.mintegral,b\n",
			"(not shown),applovin.channel_setup.sdk_keys.0,(not shown)\nG,partners.mintegral,b\n"},
		"wide": {"app_token,app_name,csv.bucket,csv.secret_key\na,G,b,zz\nb,H,c,zy\n",
			"app_token,app_name,csv.bucket,csv.secret_key\na,G,b,(not shown)\nb,H,c,(not shown)\n"},
		"wide, people's names": {"App,Bucket,Secret Key,API token\nG,b,zz,zz\n",
			"App,Bucket,Secret Key,API token\nG,b,(not shown),(not shown)\n"},
		"wide, key": {"app,bucket,key\nG,b,zz\n", "app,bucket,key\nG,b,(not shown)\n"},
		"a column an app": {"what,Game A,Game B\nbucket,b,c\npassword,zz,zy\n",
			"what,Game A,Game B\nbucket,b,c\npassword,(not shown),(not shown)\n"},
		"semicolons": {"app;setting;value\nG;password;zz,z\n", "app;setting;value\nG;password;(not shown)\n"},
		"tabs": {"app\tsetting\tvalue\nG\tpassword\tzz\n",
			"app\tsetting\tvalue\nG\tpassword\t(not shown)\n"},
		"a mark first": {"\ufeffsetting,value\npassword,zz\n", "setting,value\npassword,(not shown)\n"},
		"ragged": {"app,setting,value\nG,password,zz,zz,zz\n",
			"app,setting,value\nG,password,(not shown),(not shown),(not shown)\n"},
		"JSON in a cell": {"app,settings\nG,\"{\"\"csv\"\":{\"\"bucket\"\":\"\"b\"\"," +
			"\"\"secret\"\":{\"\"a\"\":\"\"zz\"\"}}}\"\n",
			"app,settings\nG,\"{\"\"csv\"\":{\"\"bucket\"\":\"\"b\"\",\"\"secret\"\":\"\"(not shown)\"\"}}\"\n"},
		"pairs in JSON": {"app,settings\nG,\"[{\"\"name\"\":\"\"password\"\",\"\"value\"\":\"\"zz\"\"}," +
			"{\"\"name\"\":\"\"bucket\"\",\"\"value\"\":\"\"b\"\"}]\"\n",
			"app,settings\nG,\"[{\"\"name\"\":\"\"password\"\",\"\"value\"\":\"\"(not " +
				"shown)\"\"},{\"\"name\"\":\"\"bucket\"\",\"\"value\"\":\"\"b\"\"}]\"\n"},
		"pairs in a text": {"app,note\nG,\"bucket=b; password=zz; api_key: 'zz'\"\n",
			"app,note\nG,bucket=b; password=***; api_key: ***\n"},
		"an address": {"app,url\nG,https://u:zz@x/?token=zz&a={b}\n",
			"app,url\nG,https://***@x/?token=***&a={b}\n"},
		"no names at all": {"x,y\nG,AKIAIOSFODNN7EXAMPLE\n", "x,y\nG,(not shown)\n"},
		"a line":          {"password,zz\n", "password,(not shown)\n"},
	} {
		if got := masked(t, c.text); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
	}
	for _, bad := range []string{"setting,value\n\x00p,zz\n", "setting,value\npassword,zz\xff\n"} {
		var out bytes.Buffer
		if err := MaskCSV(&out, strings.NewReader(bad)); err == nil || out.Len() > 0 ||
			strings.Contains(err.Error(), "zz") {
			t.Errorf("%q: %v, %q", bad, err, out.String())
		}
	}
}

// What isn't secret stays: names of apps, events, partners and campaigns, identifiers, dates and
// numbers.
func TestMaskCSVLeavesPlainValues(t *testing.T) {
	for _, text := range []string{
		"app_token,app_name,platform,store_id,currency,time_zone\nabc123def456,Secret Garden 2: The " +
			"Key,ios,1234567890,EUR,Europe/Berlin\n",
		"app_token,app_name,section,setting,value\nabc123def456,Password " +
			"Safe,events,tutorial_completed_level_10,n3x7q1\nabc123def456,G,attribution,click_lookback_days,30\n",
		"bundle,title\ncom.company.game2048.hd.free,Author's Edition 2024 (Deluxe)\n",
		"app,partner,enabled\nG,Facebook,true\nG,Google Ads,false\nG,Authentic Ads,true\n",
		"app,campaign,created\nG,summer_sale_2024_us_ios_14,2024-01-31T08:30:00Z\nG,Launch-2025-Q1-EMEA,2025-01-31 " +
			"08:30:00\n",
		"app,callback\nG,https://example.com/cb?adid={adid}&campaign={campaign_name}\n",
		"App;Setting;Value\nG;fingerprint_check;TRUE\nG;Domains;example.com app.example.com\n",
	} {
		if got := masked(t, text); got != text {
			t.Errorf("got\n%s\nwant\n%s", got, text)
		}
	}
}

var maskSeed = flag.Uint64("mask-seed", 0, "seed of the random exports; 0: the clock")

// Exports of random shapes with known credentials in them: none comes through, and at least three
// plain values in four do.
func TestMaskCSVAnyShape(t *testing.T) {
	slow.Test(t)
	seed := *maskSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	dice := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	kept, all := 0, 0
	for n := range 3000 {
		text, secrets, plain := randomExport(dice)
		got := masked(t, text)
		for _, s := range secrets {
			if strings.Contains(got, s) {
				t.Fatalf("export %d of seed %d shows %s:\n%s\n%s", n, seed, s, text, got)
			}
		}
		for _, s := range plain {
			if all++; strings.Contains(got, s) {
				kept++
			}
		}
	}
	if kept < all*3/4 {
		t.Errorf("%d of %d plain values are left", kept, all)
	}
	t.Logf("%d of %d plain values are left", kept, all)
}

func pick[T any](dice *rand.Rand, list ...T) T { return list[dice.IntN(len(list))] }

// randomSecret is a credential in one of the forms that they have; short ones are told by their
// names alone.
func randomSecret(dice *rand.Rand) (s string, short bool) {
	raw := make([]byte, 24)
	for i := range raw {
		raw[i] = byte(dice.Uint32())
	}
	switch dice.IntN(6) {
	case 0:
		return hex.EncodeToString(raw), false
	case 1:
		return base64.RawURLEncoding.EncodeToString(raw) + "7a7B7", false
	case 2:
		return fmt.Sprintf("%x-%x-4%x-8%x-%x", raw[:4], raw[4:6], raw[6:7], raw[7:8], raw[8:14]) + "a1b2c3", false
	case 3:
		return "AKIA" + strings.ToUpper(hex.EncodeToString(raw[:8])), false
	case 4:
		return "zz" + hex.EncodeToString(raw[:3]), true
	}
	return "zz!" + hex.EncodeToString(raw[:2]) + "$zz", true
}

// randomExport makes an export of a random shape, the credentials in it, and plain values beside
// them.
func randomExport(dice *rand.Rand) (text string, secrets, plain []string) {
	type setting struct{ name, value string }
	var settings []setting
	for range 1 + dice.IntN(5) {
		value := fmt.Sprintf("plain-%s", pick(dice, "bucket", "eu-west", "daily", "organic"))
		settings = append(settings, setting{pick(dice, "bucket", "region", "timezone", "window_days",
			"partners.mintegral.enabled"), value})
		plain = append(plain, value)
	}
	names := []string{"password", "api_key", "apiKey", "API-Key", "secret", "client_secret", "csv_upload.secret_key",
		"private_key", "accessToken",
		"partners.ironsource.channel_setup.password", "partners/ironsource/api_key", "auth_token", "credentials.value",
		"sdk_keys.0"}
	for range 1 + dice.IntN(3) {
		s, short := randomSecret(dice)
		name := pick(dice, names...)
		if !short && dice.IntN(2) == 0 {
			name = pick(dice, "x", "field_7", "endpoint", "note")
		}
		if !short && dice.IntN(4) == 0 {
			s = "https://user:" + s + "@host/path"
		} else if short && dice.IntN(4) == 0 {
			s = `{"a":{"` + pick(dice, "password", "apiKey", "secret") + `":"` + s + `"}}`
			name = "x"
		}
		settings = append(settings, setting{name, s})
		for _, prefix := range []string{"https://user:", `{"a":{"password":"`, `{"a":{"apiKey":"`, `{"a":{"secret":"`} {
			s = strings.TrimPrefix(s, prefix)
		}
		secrets = append(secrets, strings.TrimSuffix(strings.TrimSuffix(s, "@host/path"), `"}}`))
	}
	dice.Shuffle(len(settings), func(i, j int) { settings[i], settings[j] = settings[j], settings[i] })
	var rows [][]string
	app := pick(dice, "My Game", "Secret Garden", "abc123def456")
	switch dice.IntN(5) {
	case 0: // a row a setting, with names above
		rows = append(rows, []string{pick(dice, "app", "App name", "title", "what"),
			pick(dice, "setting", "Parameter", "key", "c2"), pick(dice, "value", "Current value", "content", "c3")})
		for _, s := range settings {
			rows = append(rows, []string{app, s.name, s.value})
		}
	case 1: // without
		for _, s := range settings {
			rows = append(rows, []string{app, s.name, s.value})
		}
	case 2: // a row an app
		head, row := []string{"app"}, []string{app}
		for _, s := range settings {
			head, row = append(head, s.name), append(row, s.value)
		}
		rows = [][]string{head, row}
	case 3: // a column an app
		rows = append(rows, []string{"", "Game A", "Game B"})
		for _, s := range settings {
			rows = append(rows, []string{s.name, s.value, s.value})
		}
	default: // all in one cell
		object := map[string]any{}
		for i, s := range settings {
			object[fmt.Sprintf("p%d", i)] = map[string]any{s.name: s.value}
		}
		data, err := json.Marshal(object)
		if err != nil {
			panic(err)
		}
		rows = [][]string{{"app", "settings"}, {app, string(data)}}
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Comma = pick(dice, ',', ';', '\t', '|')
	if err := w.WriteAll(rows); err != nil {
		panic(err)
	}
	return b.String(), secrets, plain
}
