package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"github.com/reportferry/reportferry/internal/emulator"
)

// described are the emulators whose answers to call are held against their own OpenAPI document,
// with their tests.
var described sync.Map

func init() {
	// Rows are of hostile texts; other tests read them.
	openapi3filter.RegisterBodyDecoder("text/csv", openapi3filter.PlainBodyDecoder)
}

// description is the router of the document that the emulator serves.
func description(t *testing.T, s *emulator.Server) routers.Router {
	t.Helper()
	return parsed(t, served(s))
}

// served is the document as it is served.
func served(s *emulator.Server) []byte {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "/openapi.json", nil))
	return w.Body.Bytes()
}

var parsedOnce sync.Map // of routers, by the document's text

func parsed(t *testing.T, document []byte) routers.Router {
	t.Helper()
	if known, ok := parsedOnce.Load(string(document)); ok {
		return known.(routers.Router)
	}
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		t.Fatal(err)
	}
	router, err := legacy.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	parsedOnce.Store(string(document), router)
	return router
}

// exchange is a request with its body, and its answer.
type exchange struct {
	r    *http.Request
	body string
	w    *httptest.ResponseRecorder
}

var options = &openapi3filter.Options{IncludeResponseStatus: true, AuthenticationFunc: func(_ context.Context,
	in *openapi3filter.AuthenticationInput) error {
	if !strings.HasPrefix(in.RequestValidationInput.Request.Header.Get("Authorization"), "Bearer ") {
		return errors.New("no bearer token")
	}
	return nil
}}

// check holds an exchange against the document: what it describes is answered as it says, and what
// it refuses is refused.
func (e exchange) check(document routers.Router) (findings []string) {
	name := fmt.Sprintf("%s %s %.200q", e.r.Method, e.r.URL, e.body)
	in, err := e.described(document)
	if in == nil {
		if e.w.Code < 400 {
			return []string{fmt.Sprintf("%s: answered %d, and isn't described: %v", name, e.w.Code, err)}
		}
		return nil
	}
	if err != nil && e.w.Code < 400 {
		findings = append(findings, fmt.Sprintf("%s: answered %d, and the document refuses it: %v", name, e.w.Code,
			err))
	}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: e.w.Code, Header: e.w.Header(),
		Options: options}
	out.SetBodyBytes(e.w.Body.Bytes())
	if err := openapi3filter.ValidateResponse(e.r.Context(), out); err != nil {
		findings = append(findings, fmt.Sprintf("%s: the answer %d %.200q isn't the described one: %.600v", name,
			e.w.Code, e.w.Body, err))
	}
	return findings
}

// described finds the request's operation, nil if there is none, and what the document has against
// the request.
func (e exchange) described(document routers.Router) (*openapi3filter.RequestValidationInput, error) {
	r := e.r.Clone(e.r.Context())
	r.URL.Path = strings.TrimPrefix(r.URL.Path, "/control-center") // the router takes the first server alone
	r.Body = io.NopCloser(strings.NewReader(e.body))
	route, path, err := document.FindRoute(r)
	if err != nil {
		return nil, err
	}
	in := &openapi3filter.RequestValidationInput{Request: r, PathParams: path, Route: route, Options: options}
	return in, openapi3filter.ValidateRequest(r.Context(), in)
}

// exchanges asks an emulator for everything that it serves, rightly and wrongly, and sees that the
// document refuses what is asked wrongly where it can.
func exchanges(t *testing.T) (document []byte, list []exchange) {
	t.Helper()
	s := serviceOf(t, emulator.Options{Apps: 2, Days: 4, Tokens: map[string]emulator.Role{"admin": emulator.RoleAdmin,
		"reader": emulator.RoleReader}})
	document = served(s)
	ask := func(status int, refused bool, request, token, kind, body string) string {
		t.Helper()
		method, target, _ := strings.Cut(request, " ")
		r := httptest.NewRequest(method, target, strings.NewReader(body))
		r.RemoteAddr = "127.0.0.1:4711"
		for name, value := range map[string]string{"Authorization": token, "Content-Type": kind} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		e := exchange{r, body, httptest.NewRecorder()}
		s.ServeHTTP(e.w, r)
		_, err := e.described(parsed(t, document))
		if e.w.Code != status || refused != (err != nil) {
			t.Errorf("%s %.100q: %d %.200q, want %d; the document has against it: %v", request, body, e.w.Code,
				e.w.Body, status, err)
		}
		list = append(list, e)
		return e.w.Body.String()
	}
	const admin, data, form = "Bearer admin", "application/json", formKind
	const days = "&date_period=-2d:-1d"
	for _, kind := range []string{"csv_report", "report", "parquet_report", "pivot_report"} {
		at, index := "GET /reports-service/"+kind+"?", ""
		if kind == "pivot_report" {
			index = "&index=network"
		}
		ask(200, false, at+"dimensions=day,app&metrics=installs,cost,retention_rate_d1"+days+index, admin, "", "")
		ask(200, false, at+"dimensions=campaign,partner_name&metrics=cost,installs&sort=-cost&limit=3"+
			"&network__not_in=Organic&installs__gt=1&sandbox=false&currency=eur&utc_offset=%2B02:00"+
			"&ad_spend_mode=mixed&cohort_maturity=mature&attribution_types=click,engaged_ad"+days+index, admin, "", "")
		ask(400, true, at+"dimensions=day"+days+index, admin, "", "")
		ask(400, true, at+"dimensions=moon&metrics=installs"+days+index, admin, "", "")
		ask(400, true, at+"dimensions=day&metrics=installs&date_period=someday"+index, admin, "", "")
		ask(400, true, at+"dimensions=day&metrics=installs&limit=few"+days+index, admin, "", "")
		ask(400, true, at+"dimensions=day&metrics=installs&ad_spend_mode=all"+days+index, admin, "", "")
		ask(400, false, at+"dimensions=day&metrics=moons"+days+index, admin, "", "")
		ask(401, true, at+"dimensions=day&metrics=installs"+days+index, "", "", "")
		ask(401, false, at+"dimensions=day&metrics=installs"+days+index, "Bearer stranger", "", "")
	}
	ask(204, false, "GET /reports-service/csv_report?dimensions=day&metrics=installs&network__in=nobody"+days, admin,
		"", "")
	ask(422, true, "GET /reports-service/pivot_report?dimensions=day&metrics=installs"+days, admin, "", "")
	ask(200, false, "GET /control-center/reports-service/events?tokens_mapping=true", admin, "", "")
	ask(204, false, "GET /reports-service/events?events__contains=no-such-event", admin, "", "")
	ask(400, true, "GET /reports-service/events?tokens_mapping=perhaps", admin, "", "")
	ask(200, false, "GET /reports-service/filters_data", admin, "", "")
	ask(200, false, "GET /reports-service/filters_data?required_filters=apps,networks&networks__contains=a", admin, "",
		"")
	ask(400, false, "GET /reports-service/filters_data?required_filters=moons", admin, "", "")

	made := func(what, text string) string { // a value of an answer
		t.Helper()
		m := regexp.MustCompile(`"` + what + `":"?([\w-]+)`).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no %s in %.300s", what, text)
		}
		return m[1]
	}
	const app = `{"name": "New", "bundle_id": "com.new", "store_id": "com.new", "platform": "android", "channel_setup": {"google": {"link_id": "1"}}, "additional_stores": {"amazon": {"store_id": "B00"}}}`
	answer := ask(200, false, "POST /app-automation/app", admin, data, app)
	token, ticket := made("adjust_app_token", answer), made("ticket_token", answer)
	at := "/app-automation/app/" + token
	ask(422, true, "POST /app-automation/app", admin, data, `{"name": "New"}`)
	ask(422, true, "POST /app-automation/app", admin, data, strings.Replace(app, "android", "palm", 1))
	ask(403, false, "POST /app-automation/app", "Bearer reader", data, app)
	ask(200, false, "GET /app-automation/app?store_id=com.new&platform=android", admin, "", "")
	ask(422, true, "GET /app-automation/app?store_id=com.new", admin, "", "")
	ask(400, false, "GET /app-automation/app?store_id=com.none&platform=ios", admin, "", "")
	ask(200, false, "POST "+at, admin, data,
		`{"name": "Newer", "override_settings": {"signature": {"enforce_install_signing": true}}}`)
	ask(422, true, "POST "+at, admin, data, `{"name": 7}`)
	ask(200, false, "GET "+at, admin, "", "")
	ask(200, false, "PATCH "+at+"/signature", admin, data, `{"android_fingerprints": ["`+strings.Repeat("C4:",
		19)+`C4"]}`)
	ask(422, true, "PATCH "+at+"/signature", admin, data, `{"enforce_install_signing": "yes"}`)
	ask(200, false, "GET "+at+"/settings", admin, "", "")
	secret := made("id", ask(200, false, "GET "+at+"/settings?sections=sdk_secrets", admin, "",
		"")[len(`{"sdk_secrets":`):])
	ask(422, true, "GET "+at+"/settings?sections=moons", admin, "", "")
	ask(200, false, "POST "+at+"/secrets/"+secret+"/revoke", admin, "", "")
	ask(422, true, "POST "+at+"/secrets/first/revoke", admin, "", "")
	ask(200, false, "POST "+at+"/secrets/"+secret+"/reactivate", admin, data, `{"scope": "all-traffic"}`)
	ask(200, false, "POST "+at+"/secrets/revoke_outdated", admin, data, `{"min_active_version": 2}`)
	ask(200, false, "GET /app-automation/apps/list?limit=1", admin, "", "")
	ask(422, true, "GET /app-automation/apps/list?limit=-1", admin, "", "")
	ask(200, false, "GET /app-automation/status/"+ticket, admin, "", "")
	ask(200, false, "POST /app-automation/events", admin, data,
		`{"app_tokens": ["`+token+`", "nobody"], "events": [{"name": "Sail", "unique": true}]}`)
	ask(422, true, "POST /app-automation/events", admin, data, `{"app_tokens": [], "events": [{"name": "Sail"}]}`)
	ask(200, false, "GET /app-automation/settings/csv?sections=events", admin, "", "")
	ask(200, false, "POST /app-automation/vault", admin, data,
		`{"section": "purchase_verification", "store": "google", "data": "key"}`)
	ask(422, true, "POST /app-automation/vault", admin, data, `{"section": "app_info", "data": "key"}`)
	ask(200, false, "GET /app-automation/vault", admin, "", "")

	engagement, _, _ := strings.Cut(strings.SplitN(ask(200, false, "GET /_emulator/engagements?days=2&per_day=1", "",
		"", ""), "\n", 3)[1], ",")
	spend := url.Values{"cost_type": {"cpi"}, "cost_currency": {"usd"}, "cost_amount": {"1.25"},
		"cost_id": {strings.Trim(engagement, `"`)}, "tag": {"t"}}
	ask(200, false, "POST /cost", "Bearer partner", form, spend.Encode())
	ask(200, false, "POST /cost?"+spend.Encode(), "Bearer partner", "", "")
	ask(401, true, "POST /cost", "", form, spend.Encode())
	spend.Set("cost_amount", "much")
	ask(400, true, "POST /cost", "Bearer partner", form, spend.Encode())
	first := s.Apps()[0].Token
	device := "s2s=1&idfa=d1&app_token=" + first
	ask(200, false, "POST /third_party_sharing", "", form, device+"&sharing=disable")
	ask(200, false, "POST /third_party_sharing?"+device+"&sharing=enable", "", "", "")
	ask(200, false, "POST /third_party_sharing", "", data,
		`{"s2s": "1", "idfa": "d1", "app_token": "`+first+`", "partner_sharing_settings": {"all": {"all": false}}, "granular_third_party_sharing_options": {"google_dma": {"eea": "1"}}}`)
	ask(202, false, "POST /third_party_sharing", "", data,
		`{"s2s": "1", "idfa": "d1", "app_token": "`+first+`", "sharing": "enable", "partner_sharing_settings": {"nobody": {"all": true}}}`)
	ask(400, true, "POST /third_party_sharing", "", form, device+"&sharing=maybe")
	ask(400, false, "POST /third_party_sharing", "", form, "s2s=1&sharing=enable&app_token="+first)

	ask(200, false, "GET /openapi.json", "", "", "")
	ask(200, false, "GET /_emulator/requests", "", "", "")
	ask(200, false, "PUT /_emulator/faults", "", data,
		`[{"kind": "slow", "delay": "1ms", "every": 2, "path": "csv_report"}]`)
	ask(400, true, "PUT /_emulator/faults", "", data, `[{"kind": "sleepy"}]`)
	ask(400, true, "PUT /_emulator/faults", "", data, `[{"kind": "slow", "delay": "1ms", "often": true}]`)
	ask(200, false, "POST /_emulator/restatements", "", data,
		`[{"day": "2026-03-12", "metric": "cost", "factor": 0.5}]`)
	ask(400, true, "POST /_emulator/restatements", "", data,
		`[{"day": "2026-03-12", "metric": "moons", "factor": 0.5}]`)
	ask(200, false, "GET /_emulator/restatements?metrics=cost&date_period=2026-03-12:2026-03-12"+
		"&since=2026-03-14T11:00:00Z&network__in=AppLovin", "", "", "")
	ask(200, false, "POST /_emulator/clock", "", data, `{"shift": "1h"}`)
	ask(400, true, "POST /_emulator/clock", "", data, `{"shift": 1}`)
	for _, call := range []string{"GET spend", "GET spend-records", "GET sharing-books", "GET sharing-log",
		"GET sharing-devices", "GET apps", "POST reset-requests"} {
		ask(200, false, strings.Replace(call, " ", " /_emulator/", 1), "", "", "")
	}
	ask(200, false, "GET /_emulator/sharing?device=d1&app_token="+first, "", "", "")
	ask(400, true, "GET /_emulator/sharing?app_token="+first, "", "", "")
	ask(200, false, "POST /_emulator/reset-sharing", "", "", "")
	ask(200, false, "PUT /_emulator/job-faults", "", data, `[{"section": "events", "detail": "no"}]`)
	ask(200, false, "POST /_emulator/tickets", "", data, `{"steps": 2}`)
	ask(200, false, "POST /_emulator/reset-token", "", data, `{"token": "reader"}`)
	return document, list
}

// Every exchange is as the document says, every operation of the document has one that succeeds,
// and a wrong document is noticed.
func TestOpenAPIDescribesAnswers(t *testing.T) {
	t.Parallel()
	document, list := exchanges(t)
	findings := func(document []byte) (all []string, done map[string]bool) {
		done = map[string]bool{}
		for _, e := range list {
			all = append(all, e.check(parsed(t, document))...)
			if in, _ := e.described(parsed(t, document)); in != nil && e.w.Code < 300 {
				done[in.Route.Method+" "+in.Route.Path] = true
			}
		}
		return all, done
	}
	all, done := findings(document)
	for _, finding := range all {
		t.Error(finding)
	}
	for _, operation := range operations(t, document) {
		if !done[operation] {
			t.Errorf("%s: nothing asks it and succeeds", operation)
		}
	}
	for _, change := range [][2]string{
		{`"is_skad_event": {"type": "boolean"}`, `"is_skad_event": {"type": "string"}`},
		{`"totals": {"type": "object", "additionalProperties": {"type": "number"}}`,
			`"totals": {"type": "object", "additionalProperties": {"type": "string"}}`},
		{`"correlation_id": {"type": "string", "format": "uuid"}`, `"correlation": {"type": "string"}`},
		{`"/reports-service/events": {`, `"/reports-service/occasions": {`},
		{`"/_emulator/spend": {`, `"/_emulator/spending": {`},
		{`"enum": ["new", "opened", "completed", "failed"]`, `"enum": ["new", "opened"]`},
		{`"202": {`, `"203": {`},
		{`"text/plain": {"schema"`, `"text/html": {"schema"`},
		{`"sk_app_id": {"type": "string", "nullable": true}`, `"sk_app_id": {"type": "string"}`},
		{`"maxLength": 256`, `"maxLength": 12`},
		{`"name": "limit", "in": "query"`, `"name": "limit", "in": "query", "required": true`},
	} {
		changed := strings.ReplaceAll(string(document), change[0], change[1])
		if changed == string(document) {
			t.Errorf("the document lacks %s", change[0])
		} else if all, _ := findings([]byte(changed)); len(all) == 0 {
			t.Errorf("nobody notices %s", change[1])
		}
	}
}

// operations are the document's, such as "GET /app-automation/vault".
func operations(t *testing.T, document []byte) (list []string) {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			list = append(list, method+" "+path)
		}
	}
	slices.Sort(list)
	return list
}

// The document has the routes that the emulator's code has, and no other; it has the parameters
// that the code of reports knows.
func TestOpenAPIHasEveryRoute(t *testing.T) {
	t.Parallel()
	document := served(serviceOf(t, emulator.Options{Apps: 1, Days: 1}))
	found := func(file, pattern string) (groups [][]string) {
		t.Helper()
		text, err := os.ReadFile("../" + file)
		if err != nil {
			t.Fatal(err)
		}
		return regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1)
	}
	routes := map[string]bool{"POST /cost": true, "POST /third_party_sharing": true}
	for _, m := range found("server.go", `case path == "(/[a-z.]+)":`) {
		routes["GET "+m[1]] = true
	}
	for _, m := range found("report/service.go", `\tcase "([a-z_]+)":\n\t\ts\.serve`) {
		routes["GET /reports-service/"+m[1]] = true
	}
	for _, m := range found("apps/service.go", `\n\t\{"([A-Z]+)", "([^"]+)", (?:true|false), \(\*call\)`) {
		routes[m[1]+" /app-automation/"+m[2]] = true
	}
	for _, file := range []string{"admin.go", "spend/books.go", "sharing/admin.go", "apps/admin.go"} {
		calls := found(file, `case "(GET|PUT|POST) ([a-z-]+)":`)
		if len(calls) == 0 {
			t.Errorf("no calls in %s", file)
		}
		for _, m := range calls {
			routes[m[1]+" /_emulator/"+m[2]] = true
		}
	}
	want := slices.Sorted(maps.Keys(routes))
	if got := operations(t, document); !slices.Equal(got, want) {
		t.Errorf("the document has\n%s\nthe code has\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	known := found("report/unknown.go", `(?s)parameters = \[\]string\{(.*?)\}`)[0][1]
	for _, m := range regexp.MustCompile(`"(\w+)"`).FindAllStringSubmatch(known, -1) {
		if !strings.Contains(string(document), `"name": "`+m[1]+`", "in": "query"`) {
			t.Errorf("no parameter %s", m[1])
		}
	}
}
