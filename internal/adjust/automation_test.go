package adjust

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const (
	vaultDatum  = `{"type":"S3","bucket":"exports","key":"AKIAIOSFODNN7EXAMPLE","secret":"wJalrXUtnFEMI\/K7MDENG<b>"}`
	pvSecret    = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
	vungleToken = "vun-gle\"p4ssw\\rd"
)

// withSecrets is an app that brings secrets of all kinds.
func withSecrets() App {
	return App{
		Name: "Runner", BundleID: "com.example.runner", StoreID: "com.example.runner", Platform: "android",
		Sections: []string{"partners", "events"}, ForceUpdate: true, IOSPVSharedSecret: pvSecret, Editors: []string{},
		ChannelSetup: map[string]map[string]any{"ironsource": {"advertiser_id": "77", "password": vungleToken},
			"tiktok": {"app_id": "9", "enabled": false}},
		OverrideSettings: map[string]any{"callbacks": []any{map[string]any{"id": "global",
			"url": "https://example.com/?a=1&b=<2>"}}},
		AdditionalStores: map[string]Store{"huawei": {"C1"}},
	}
}

// A method is one of app automation's, what it sends, and what the service's documents show for an
// answer.
type method struct {
	name   string
	do     func(context.Context, *Client) (any, error)
	sends  string // method and path
	body   string // JSON; empty: none
	answer string
	kind   string // of the answer; default application/json
	want   string // the result, printed; unknown fields included
}

const secretsAnswer = `{"combined_secrets":{"enforce_install_signing":true,"secrets":[
 {"id":1,"name":"old","active":false,"value":["111111","222222","333333","444444"],"internal_version":1,"version":1,"created_at":"2020-01-02T03:04:05Z","updated_at":"2020-01-02T03:04:05Z"},
 {"id":3,"platform":"android","label":"new","active":true,"scope":"all-traffic","algorithm":"adj1","internal_version":"3.47.0","version":3,"created_at":"2025-01-02T03:04:05Z","updated_at":"2025-01-02T03:04:05Z","x":{"y":1}}],"z":0},"revoked":1,"more":[]}`

const secretsWant = `{{true [{1 1 false old [secret] 1     2020-01-02T03:04:05Z 2020-01-02T03:04:05Z} ` +
	`{3 3 true  [secret] 3.47.0 android new all-traffic adj1 2025-01-02T03:04:05Z 2025-01-02T03:04:05Z}]} 1}`

func methods() []method {
	const app = `{"name":"Runner","store_id":"com.example.runner","platform":"android","adjust_app_token":"p77yk727r18g",
		"additional_info":{"overrides":{"callbacks":[{"id":"global","n":12345678901234567890}]},"editors":["a@b.test"]},"channel_setup":{"facebook":{"app_id":"12","adimpression_forwarding":false}},
		"cross_promo_token":"cp","android_signature_hash":"C4:BD"}`
	const appWant = `{Runner  com.example.runner android p77yk727r18g {map[callbacks:[map[id:global n:12345678901234567890]]] map[editors:["a@b.test"]]} ` +
		`map[facebook:map[adimpression_forwarding:false app_id:12]] map[android_signature_hash:"C4:BD" cross_promo_token:"cp"]}`
	const created = `{"adjust_app_token":"p77yk727r18g","name":"Runner","sk_app_id":%s,"store_id":"com.example.runner","bundle_id":"com.example.b","ticket_token":"5d1c7e3e-9a55-4d06-a6a7-6c2b0a3a6f7a","new":{"a":1}}`
	const createdWant = `{p77yk727r18g Runner com.example.b com.example.runner 5d1c7e3e-9a55-4d06-a6a7-6c2b0a3a6f7a %s map[new:{"a":1}]}`
	body, err := json.Marshal(withSecrets())
	if err != nil {
		panic(err)
	}
	ticket := "5d1c7e3e-9a55-4d06-a6a7-6c2b0a3a6f7a"
	on := true
	csv := "app_token,app_name,section,setting,value\np77,\"a, b\",events,x,1\n"
	return []method{
		{"CreateApp", func(ctx context.Context, c *Client) (any, error) { return c.CreateApp(ctx, withSecrets()) },
			"POST /app", string(body),
			fmt.Sprintf(created, "null"), "", fmt.Sprintf(createdWant, "")},
		{"UpdateApp", func(ctx context.Context, c *Client) (any, error) {
			return c.UpdateApp(ctx, "p77yk727r18g", App{Name: "Runner"})
		}, "POST /app/p77yk727r18g", `{"name":"Runner"}`, fmt.Sprintf(created, "7"), "", fmt.Sprintf(createdWant, "7")},
		{"MoreApps", func(ctx context.Context, c *Client) (any, error) { return c.MoreApps(ctx, 2, 50) },
			"GET /apps/list?limit=50&offset=2", "", "[" + app + "]", "", "[" + appWant + "]"},
		{"AppByStore", func(ctx context.Context, c *Client) (any, error) {
			return c.AppByStore(ctx, "a&b\r\nX: y", "ios", "huawei")
		},
			"GET /app?platform=ios&store=huawei&store_id=a%26b%0D%0AX%3A+y", "", app, "", appWant},
		{"App", func(ctx context.Context, c *Client) (any, error) { return c.App(ctx, "p77yk727r18g") },
			"GET /app/p77yk727r18g", "", app, "", appWant},
		{"Apps", func(ctx context.Context, c *Client) (any, error) { return c.Apps(ctx) }, "GET /apps/list", "",
			"[" + app + "," + app + "]", "", "[" + appWant + " " + appWant + "]"},
		{"Apps, as an object", func(ctx context.Context, c *Client) (any, error) { return c.Apps(ctx) },
			"GET /apps/list", "", ` {"apps":[` + app + "]}", "", "[" + appWant + "]"},
		{"Settings", func(ctx context.Context, c *Client) (any, error) {
			m, err := c.Settings(ctx, "abc", "events", "partners")
			return m, err
		}, "GET /app/abc/settings?sections=events&sections=partners", "",
			`{"events":[{"name":"e","token":"abc1de"}],"later":{"x":null}}`, "",
			`map[events:[{"name":"e","token":"abc1de"}] later:{"x":null}]`},
		{"SettingsCSV", func(ctx context.Context, c *Client) (any, error) {
			var b strings.Builder
			return &b, c.SettingsCSV(ctx, &b, []string{"a", "b"}, []string{"events"})
		}, "GET /settings/csv?app_tokens=a&app_tokens=b&sections=events", "", csv, "text/csv; charset=utf-8", csv},
		{"Ticket", func(ctx context.Context, c *Client) (any, error) { return c.Ticket(ctx, ticket) },
			"GET /status/" + ticket, "",
			`{"status":"failed","kind":"migration","result":{"events":{"successes":["a"],"failures":["odd",{"name":"b","detail":"no"},{"section":"c","details":[1]},7],"took":3},
			"partners":{"section":"partners","detail":"Could not be started because events section has failed"}},"since":"x"}`, "",
			`{failed migration map[events:{[a] [odd b: no c: [1] 7]  } partners:{[] [] partners Could not be started because events section has failed}] map[since:"x"]}`},
		{"SubmitEvents", func(ctx context.Context, c *Client) (any, error) {
			return c.SubmitEvents(ctx, []string{"abc123xyz", "ghi789rst"}, []EventSpec{{"purchase", true}, {Name: "x"}})
		}, "POST /events",
			`{"app_tokens":["abc123xyz","ghi789rst"],"events":[{"name":"purchase","unique":true},{"name":"x","unique":false}]}`,
			`{"successes":[{"app_token":"abc123xyz","event":{"id":12345,"name":"purchase","token":"abc1de","unique":true,"autogenerated":false,"archived":true,"q":1},"r":2}],
			"failures":[{"app_token":"ghi789rst","name":"purchase","details":"App not found","s":3}],"t":4}`, "",
			`{[{abc123xyz {12345 purchase abc1de true false true map[q:1]}}] [{ghi789rst purchase App not found map[s:3]}]}`},
		{"UpdateSignature", func(ctx context.Context, c *Client) (any, error) {
			s, err := c.UpdateSignature(ctx, "abc", SignatureSettings{EnforceInstallSigning: &on,
				AndroidFingerprints: []string{}})
			if s.EnforceInstallSigning == nil {
				return s, err
			}
			return []any{*s.EnforceInstallSigning, s.AndroidFingerprints, s.Unknown}, err
		}, "PATCH /app/abc/signature", `{"enforce_install_signing":true,"android_fingerprints":[]}`,
			`{"enforce_install_signing":true,"android_fingerprints":["C4:BD"],"v":3}`, "", "[true [C4:BD] map[v:3]]"},
		{"RevokeOutdatedSecrets", func(ctx context.Context, c *Client) (any, error) {
			return c.RevokeOutdatedSecrets(ctx, "abc", Outdated{MinActiveVersion: 2, Force: true})
		}, "POST /app/abc/secrets/revoke_outdated", `{"min_active_version":2,"force":true}`, secretsAnswer, "",
			secretsWant},
		{"RevokeSecret", func(ctx context.Context, c *Client) (any, error) { return c.RevokeSecret(ctx, "abc", "3") },
			"POST /app/abc/secrets/3/revoke", `{}`, secretsAnswer, "", secretsWant},
		{"ReactivateSecret", func(ctx context.Context, c *Client) (any, error) {
			return c.ReactivateSecret(ctx, "abc", "3", "all-traffic")
		}, "POST /app/abc/secrets/3/reactivate", `{"scope":"all-traffic"}`, secretsAnswer, "", secretsWant},
		{"PutVault", func(ctx context.Context, c *Client) (any, error) {
			return c.PutVault(ctx, "csv_upload_settings", "", vaultDatum)
		}, "POST /vault", `{"section":"csv_upload_settings","data":` + quote(vaultDatum) + `}`,
			`{"id":5,"section":"csv_upload_settings","store":null,"data":"Zm9v","created_at":"c","updated_at":"u","w":1}`, "",
			"{5 csv_upload_settings  [secret] c u}"},
		{"Vault", func(ctx context.Context, c *Client) (any, error) { return c.Vault(ctx) }, "GET /vault", "",
			`[{"section":"purchase_verification","store":"google","data":"Zm9v"}]`, "",
			"[{ purchase_verification google [secret]  }]"},
	}
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (m method) reply() reply { return page(200, cmp.Or(m.kind, "application/json"), m.answer) }

// Every method asks what the document says, and reads the answers that the service's documents
// show.
func TestAutomation(t *testing.T) {
	for _, m := range methods() {
		synctest.Test(t, func(t *testing.T) {
			var got, body, kind string
			c, _ := open(t, play(func(w http.ResponseWriter, r *http.Request) {
				b, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				got, body, kind = r.Method+" "+r.URL.RequestURI(), string(b), r.Header.Get("Content-Type")
				if r.Header.Get("Authorization") != "Bearer "+secretToken || r.Header.Get("X") != "" {
					t.Errorf("%s: %v", m.name, r.Header)
				}
				m.reply()(w, r)
			}), nil)
			result, err := m.do(t.Context(), c)
			if err != nil {
				t.Errorf("%s: %v", m.name, err)
			}
			if text := show(result); text != m.want {
				t.Errorf("%s:\n%s, want\n%s", m.name, text, m.want)
			}
			if want := strings.Replace(m.sends, " ", " /app-automation", 1); got != want {
				t.Errorf("%s: %s, want %s", m.name, got, want)
			}
			if (kind != "") != (m.body != "") || kind != "" && (kind != "application/json" || !sameJSON(body, m.body)) {
				t.Errorf("%s: %q %s, want %s", m.name, kind, body, m.body)
			}
		})
	}
}

// show prints a result, what is kept as JSON as text.
func show(v any) string { return shown(reflect.ValueOf(v)) }

func shown(v reflect.Value) string {
	var parts []string
	switch x := v.Interface().(type) {
	case json.RawMessage:
		return string(x)
	case fmt.Stringer:
		return x.String()
	}
	switch v.Kind() {
	case reflect.Interface:
		return shown(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			parts = append(parts, shown(v.Field(i)))
		}
		return "{" + strings.Join(parts, " ") + "}"
	case reflect.Slice:
		for i := range v.Len() {
			parts = append(parts, shown(v.Index(i)))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case reflect.Map:
		for _, k := range v.MapKeys() {
			parts = append(parts, k.String()+":"+shown(v.MapIndex(k)))
		}
		slices.Sort(parts)
		return "map[" + strings.Join(parts, " ") + "]"
	}
	return fmt.Sprint(v.Interface())
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// What is sent again and what isn't, counted at the server: the same for reads and writes, since
// all writes may be repeated, except that a write follows no redirect.
func TestAutomationRetries(t *testing.T) {
	for _, m := range methods() {
		good := m.reply()
		kind := cmp.Or(m.kind, "application/json")
		for _, c := range []struct {
			name  string
			first reply
			sent  int
			want  error // nil: the next answer is taken
			code  int
		}{
			{"400", status(400), 1, errAny, 400},
			{"400, not found", page(400, "application/json",
				`{"error_code":"request_error","error_desc":"App not found"}`), 1, ErrNotFound, 400},
			{"401", status(401), 1, ErrAuth, 401},
			{"403", status(403), 1, ErrAuth, 403},
			{"404", status(404), 1, ErrNotFound, 404},
			{"405", status(405), 1, errAny, 405},
			{"408", status(408), 2, nil, 0},
			{"413", status(413), 1, errAny, 413},
			{"422", status(422), 1, errAny, 422},
			{"429", status(429), 2, nil, 0},
			{"429, Retry-After", status(429, "Retry-After", "9"), 2, nil, 0},
			{"500", status(500), 2, nil, 0},
			{"501", status(501), 1, errAny, 501},
			{"502", status(502), 2, nil, 0},
			{"503", status(503), 2, nil, 0},
			{"504", status(504), 2, nil, 0},
			{"201", page(201, kind, m.answer), 1, errAny, 201},
			{"reset", reset, 2, nil, 0},
			{"silence", silent, 2, nil, 0},
			{"cut", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Length", fmt.Sprint(len(m.answer)))
				w.Header().Set("Content-Type", kind)
				_, _ = io.WriteString(w, m.answer[:len(m.answer)/2])
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}, 2, nil, 0},
			{"HTML", page(200, "text/html", "<html>busy"), 2, nil, 0},
			{"empty", page(200, kind, ""), 2, nil, 0},
			{"half of the JSON", page(200, "application/json", `{"adjust_app_token":"p77`), 1, errAny, 200},
			{"more behind the JSON", page(200, "application/json", m.answer+"x"), 1, errAny, 200},
			{"another shape", page(200, "application/json", `"`+pvSecret+`"`), 1, errAny, 200},
		} {
			if m.kind != "" && c.code == 200 {
				continue // of JSON only
			}
			synctest.Test(t, func(t *testing.T) {
				s := play(c.first, good)
				client, _ := open(t, s, nil)
				start := time.Now()
				result, err := m.do(t.Context(), client)
				var e *Error
				switch {
				case len(s.when()) != c.sent:
					t.Errorf("%s, %s: %d requests, want %d", m.name, c.name, len(s.when()), c.sent)
				case c.want == nil && (err != nil || show(result) != m.want):
					t.Errorf("%s, %s: %v, %v", m.name, c.name, result, err)
				case c.want != nil && (!errors.As(err, &e) || e.Status != c.code || e.Attempts != 1):
					t.Errorf("%s, %s: %v", m.name, c.name, err)
				case c.want != nil && !errors.Is(c.want, errAny) && !errors.Is(err, c.want):
					t.Errorf("%s, %s: %v", m.name, c.name, err)
				case errors.Is(err, ErrAuth) && !strings.Contains(err.Error(), "Admin or Editor"):
					t.Errorf("%s, %s: %v", m.name, c.name, err)
				case c.name == "429, Retry-After" && time.Since(start) != 9*time.Second:
					t.Errorf("%s, %s: after %v", m.name, c.name, time.Since(start))
				case c.name == "silence" && (time.Since(start) < time.Minute ||
					time.Since(start) > time.Minute+time.Second):
					t.Errorf("%s, %s: after %v", m.name, c.name, time.Since(start))
				}
			})
		}
		for _, code := range []int{301, 302, 303, 307, 308} {
			synctest.Test(t, func(t *testing.T) {
				s := play(page(code, "text/plain", "", "Location", "http://elsewhere.test/app"), good)
				client, _ := open(t, s, nil)
				_, err := m.do(t.Context(), client)
				if m.body == "" && (err != nil || len(s.when()) != 2) || m.body != "" &&
					(!strings.Contains(fmt.Sprint(err), "redirect not followed") || len(s.when()) != 1) {
					t.Errorf("%s, %d: %d requests, %v", m.name, code, len(s.when()), err)
				}
			})
		}
		synctest.Test(t, func(t *testing.T) { // the token is read again once
			tokens := &fixed{tokens: []string{"old", secretToken, "newest"}}
			s := play(status(401), good)
			client, _ := open(t, s, func(o *Options) { o.Token = tokens })
			if _, err := m.do(t.Context(), client); err != nil || len(s.when()) != 2 ||
				s.heads[1].Get("Authorization") != "Bearer "+secretToken {
				t.Errorf("%s: %v after %d requests", m.name, err, len(s.when()))
			}
			s = play(status(401))
			client, _ = open(t, s, func(o *Options) { o.Token = &fixed{tokens: []string{"old", "new", "newest"}} })
			if _, err := m.do(t.Context(), client); !errors.Is(err, ErrAuth) || len(s.when()) != 2 {
				t.Errorf("%s: %v after %d requests", m.name, err, len(s.when()))
			}
		})
		// 204 tells nothing of one app or ticket, nor of settings, and is an answer otherwise.
		synctest.Test(t, func(t *testing.T) {
			client, _ := open(t, play(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }), nil)
			_, err := m.do(t.Context(), client)
			if one := slices.Contains([]string{"AppByStore", "App", "Ticket", "Settings"},
				m.name); (err != nil) != one || Unclear(err) != one {
				t.Errorf("%s, 204: %v", m.name, err)
			}
		})
		synctest.Test(t, func(t *testing.T) { // given up
			s := play(status(500))
			client, _ := open(t, s, nil)
			_, err := m.do(t.Context(), client)
			var e *Error
			if !errors.As(err, &e) || e.Attempts != 8 || len(s.when()) != 8 || e.Code != "request_error" {
				t.Errorf("%s: %v after %d requests", m.name, err, len(s.when()))
			}
		})
	}
}

var errAny = errors.New("any")

// No error and no log shows a token, a vault datum or a channel's secret, whatever the service
// repeats.
func TestAutomationHidesSecrets(t *testing.T) {
	var hide []string
	echo := vaultDatum + " " + pvSecret + " " + vungleToken + " Bearer " + secretToken
	for _, m := range methods() {
		if m.body == "" {
			continue
		}
		for i, r := range []reply{
			page(400, "text/plain", echo),
			page(500, "application/json", `{"error_desc":`+quote(echo)+`,"error_code":`+quote(pvSecret)+`}`),
			page(422, "application/json",
				`{"error_desc":"x","error_desc_details":[{"loc":["body",`+quote(vungleToken)+`,`+quote(
					pvSecret)+`],"msg":`+quote(echo)+`}]}`),
			page(422, "application/json", `{"input":`+quote(quote(echo))+`}`),
			page(200, "text/html", echo),
			page(200, "application/json", quote(echo)),
			page(302, "text/plain", echo, "Location", "/?x="+strings.ReplaceAll(echo, "\n", "")),
			func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				page(503, "text/plain", string(b)+echo)(w, r)
			},
		} {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				c, _ := open(t, play(r), func(o *Options) {
					o.Logger, o.Attempts = slog.New(slog.NewJSONHandler(&log,
						&slog.HandlerOptions{Level: slog.LevelDebug})), 2
				})
				var err error
				switch m.name { // each hides what it sends itself
				case "CreateApp":
					hide = []string{pvSecret, pvSecret[5:13], vungleToken, "p4ssw"}
				case "PutVault":
					hide = []string{vaultDatum, "AKIAIOSF", "wJalrXUt", "K7MDENG"}
				default:
					hide = nil
				}
				_, err = m.do(t.Context(), c)
				if err == nil {
					t.Fatalf("%s, %d: taken", m.name, i)
				}
				for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err),
					log.String()} {
					if shows(text) {
						t.Errorf("%s, %d: the token is in %s", m.name, i, text)
					}
					for _, s := range hide {
						if strings.Contains(text, s) || strings.Contains(text, strings.Trim(quote(s), `"`)) {
							t.Errorf("%s, %d: %s is in %s", m.name, i, s, text)
						}
					}
				}
			})
		}
	}
	// Nor what an answer holds that isn't understood.
	for _, kind := range []string{"text/html", "application/octet-stream", "application/json"} {
		synctest.Test(t, func(t *testing.T) {
			c, _ := open(t, play(page(200, kind, `["`+secretsAnswer)), func(o *Options) { o.Attempts = 1 })
			_, err := c.Settings(t.Context(), "abc")
			_, err2 := c.RevokeSecret(t.Context(), "abc", "1")
			if text := fmt.Sprint(err, err2); err == nil || err2 == nil || strings.Contains(text, "222222") {
				t.Error(text)
			}
		})
	}
	var s Secrets
	if err := json.Unmarshal([]byte(secretsAnswer), &s); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%v %+v %#v %s", s, s, s, out); strings.Contains(text, "222222") ||
		s.Combined.Secrets[0].Value.Text() != `["111111","222222","333333","444444"]` {
		t.Error(text)
	}
}

// Of a record that has other types than documented, all is read that can be, also in records inside
// of it and in lists of them.
func TestUnmarshalTakesOtherTypes(t *testing.T) {
	var s Secrets
	err := Unmarshal([]byte(
		`{"combined_secrets":{"secrets":[{"id":1,"version":"two","name":7,"active":true},{"Label":"new"}]},"revoked":2}`), &s)
	if list := s.Combined.Secrets; err != nil || len(list) != 2 || list[0].Name != "7" || list[0].Version != 0 ||
		!list[0].Active || list[1].Label != "new" || s.Revoked != "2" {
		t.Errorf("%+v (%v)", s, err)
	}
	var a AppDetails
	if err := Unmarshal([]byte(`{"name":["x"],"store_id":12,"more":1}`), &a); err != nil || a.Name != "" ||
		a.StoreID != "12" || string(a.Unknown["name"])+string(a.Unknown["more"]) != `["x"]1` {
		t.Errorf("%+v (%v)", a, err)
	}
	if err := Unmarshal([]byte(`"text"`), &a); err == nil {
		t.Error("a text is taken for an app")
	}
}
