package sharing_test

import (
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/emulator/sharing"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// admin asks an admin call, from this machine.
func admin(t *testing.T, s *emulator.Server, method, call string, status int) string {
	t.Helper()
	r := httptest.NewRequest(method, "/_emulator/"+call, nil)
	r.RemoteAddr = "127.0.0.1:1"
	w := httptest.NewRecorder()
	if s.ServeHTTP(w, r); w.Code != status {
		t.Fatalf("%s %s: %d %s, want %d", method, call, w.Code, w.Body, status)
	}
	if kind := w.Header().Get("Content-Type"); w.Body.Len() > 0 &&
		(strings.Contains(call, "log") || strings.Contains(call, "devices")) != strings.HasPrefix(kind, "text/csv") {
		t.Errorf("%s %s is of type %q", method, call, kind)
	}
	return w.Body.String()
}

// arrivals are a device's, in their order, as "status sharing settings options".
func arrivals(t *testing.T, s *emulator.Server, device string) (out []string) {
	t.Helper()
	last := 0
	check(t, s.SharingLog(func(a emulator.SharingArrival) bool {
		if a.N != last+1 || !a.Received.Equal(emutest.Noon) || a.AppToken != s.Apps()[0].Token {
			t.Errorf("arrival %+v after %d", a, last)
		}
		last = a.N
		if a.IDFA == device || a.GPSADID == device {
			out = append(out, fmt.Sprint(a.Status, " ", a.Sharing, " ", a.Settings, " ", a.Options))
		}
		return true
	}))
	return out
}

func sendSome(t *testing.T, s *emulator.Server) {
	t.Helper()
	for _, body := range []string{
		"&gps_adid=a,1&sharing=disable",
		"&gps_adid=a,1&sharing=enable",
		"&gps_adid=a,1&sharing=disable",
		"&gps_adid=a,1&sharing=disable",
		"&gps_adid=b&" + emutest.Form(sharing.SettingsName,
			`{"x.y z":{"install":true,"all":false},"all":{"event":false},"nobody":{"all":true}}`),
		"&gps_adid=b&idfa=B+2&" + emutest.Form(sharing.OptionsName,
			`{"tiktok":{"a.b=c":"1, 2 & 3"},"facebook":{"data_processing_options_country":"0"}}`),
		"&gps_adid=b&sharing=never",
	} {
		status, _ := postSharing(s, "", "s2s=1&app_token=APP"+body)
		want := 200
		if strings.Contains(body, "nobody") {
			want = 202
		} else if strings.Contains(body, "never") {
			want = 400
		}
		if status != want {
			t.Errorf("%s: %d", body, status)
		}
	}
}

// The log has the order, the books the counts, and the admin calls say the same as the methods; a
// kept file keeps it all.
func TestSharingIsKept(t *testing.T) {
	t.Parallel()
	private := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 2,
		SharingPartners: []string{"x.y z"}})
	sendSome(t, private)
	o := emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 2, DB: filepath.Join(t.TempDir(), "facts.db"),
		SharingPartners: []string{"other", "x.y z"}}
	kept, stop := emutest.Start(t, o)
	sendSome(t, kept)
	stop()
	o.SharingPartners = nil // a partner of the log stays known
	again, stop := emutest.Start(t, o)
	defer stop()
	for name, s := range map[string]*emulator.Server{"private": private, "again": again} {
		if got := arrivals(t, s, "a,1"); !reflect.DeepEqual(got, []string{"200 disable  ", "200 enable  ",
			"200 disable  ", "200 disable  "}) {
			t.Errorf("%s: %q", name, got)
		}
		options := "200   facebook.data_processing_options_country=0 tiktok.a%2Eb%3Dc=1%2C+2+%26+3"
		if got := arrivals(t, s, "b"); !reflect.DeepEqual(got,
			[]string{"202  all.event=0 x%2Ey+z.all=0 x%2Ey+z.install=1 ", options}) {
			t.Errorf("%s: %q", name, got)
		}
		if got := arrivals(t, s, "B 2"); !reflect.DeepEqual(got, []string{options}) {
			t.Errorf("%s: %q", name, got)
		}
		want := emulator.SharingSummary{Counts: wire.Counts{Statuses: map[int]int{200: 5, 202: 1, 400: 1},
			Refused: map[string]int{"No valid part": 1}}, Records: 6, Devices: 3, Duplicates: 1}
		if name == "again" {
			want.Refused, want.Statuses = map[string]int{}, map[int]int{200: 5, 202: 1}
		}
		if got := s.Sharing(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
		state := s.SharingOf(s.Apps()[0].Token, "", "b")
		if len(off(state, "x.y z")) != 13 || len(off(state, "google")) != 1 ||
			state.Options["tiktok"]["a.b=c"] != "1, 2 & 3" || state.Arrivals != 2 {
			t.Errorf("%s: %+v", name, state)
		}
		if got := s.SharingOf(s.Apps()[0].Token, "", "a,1"); got.Sharing != "disable" || got.Arrivals != 4 {
			t.Errorf("%s: %+v", name, got)
		}
		sharingAdminCalls(t, s)
		check(t, s.ResetSharing())
		if got := arrivals(t, s, "b"); got != nil || s.SharingOf(s.Apps()[0].Token, "", "b").Arrivals != 0 ||
			s.Sharing().Devices != 0 || s.Sharing().Records != 0 {
			t.Errorf("%s: after a reset %q, %+v", name, got, s.Sharing())
		}
	}
	stop()
	last, stop := emutest.Start(t, o)
	defer stop()
	if got := last.Sharing(); got.Records != 0 {
		t.Errorf("a reset isn't kept: %+v", got)
	}
}

func sharingAdminCalls(t *testing.T, s *emulator.Server) {
	t.Helper()
	app := s.Apps()[0].Token
	var state emulator.SharingState
	check(t, json.Unmarshal([]byte(admin(t, s, "GET", "sharing?app_token="+app+"&device=b", 200)), &state))
	if !reflect.DeepEqual(state, s.SharingOf(app, "", "b")) {
		t.Errorf("state %+v", state)
	}
	state = emulator.SharingState{}
	check(t, json.Unmarshal([]byte(admin(t, s, "GET", "sharing?app_token="+app+"&device=b&partner=partner_3"+
		"&id_type=idfa", 200)), &state))
	if len(state.Partners) != 1 || len(state.Partners["facebook"]) != 15 || state.Arrivals != 0 ||
		state.IDType != "idfa" {
		t.Errorf("state %+v", state)
	}
	var books emulator.SharingSummary
	check(t, json.Unmarshal([]byte(admin(t, s, "GET", "sharing-books", 200)), &books))
	if !reflect.DeepEqual(books, s.Sharing()) {
		t.Errorf("books %+v", books)
	}
	for query, want := range map[string]int{"": 6, "?device=b": 2, "?device=B+2": 1, "?app_token=" + app: 6,
		"?app_token=" + s.Apps()[1].Token: 0} {
		rows, err := csv.NewReader(strings.NewReader(admin(t, s, "GET", "sharing-log"+query, 200))).ReadAll()
		check(t, err)
		if strings.Join(rows[0], ",") != "n,received,status,app_token,idfa,gps_adid,sharing,settings,options" ||
			len(rows) != want+1 {
			t.Errorf("log%s: %q", query, rows)
		}
		if query == "" && strings.Join(rows[1], "|") != "1|2026-03-14T12:00:00Z|200|"+app+"||a,1|disable||" {
			t.Errorf("log: %q", rows[1])
		}
	}
	rows, err := csv.NewReader(strings.NewReader(admin(t, s, "GET", "sharing-devices", 200))).ReadAll()
	check(t, err)
	want := []string{"app_token,id_type,device,arrivals,sharing,settings,options",
		app + ",idfa,B 2,1,,*=111111111111111,facebook.data_processing_options_country=0 tiktok.a%2Eb%3Dc=1%2C+2+%26+3",
		app + ",gps_adid,a,1,4,disable,*=111111111111111,",
		app + ",gps_adid,b,2,,x%2Ey+z=000100010000000 *=110111111111111,facebook.data_processing_options_country=0 " +
			"tiktok.a%2Eb%3Dc=1%2C+2+%26+3"}
	for i := range rows {
		if got := strings.Join(rows[i], ","); i >= len(want) || got != want[i] {
			t.Errorf("devices, row %d: %s", i, got)
		}
	}
	for _, call := range []string{"sharing", "sharing?app_token=" + app, "sharing?app_token=x&device=b",
		"sharing?app_token=" + app + "&device=b&id_type=oaid",
		"sharing?app_token=" + app + "&device=b&partner=nobody", "sharing?app_token=" + app + "&device=b&partner=all"} {
		admin(t, s, "GET", call, 400)
	}
	admin(t, s, "POST", "sharing", 404)
	admin(t, s, "GET", "reset-sharing", 404)
	r := httptest.NewRequest(http.MethodPost, "/_emulator/"+"reset-sharing", nil)
	r.RemoteAddr = "192.0.2.7:1"
	w := httptest.NewRecorder()
	if s.ServeHTTP(w, r); w.Code != http.StatusForbidden || s.Sharing().Records == 0 {
		t.Errorf("a caller from elsewhere: %d", w.Code)
	}
}

// A file whose log isn't what was written is refused: the books would be others than those that
// were answered for.
func TestADamagedSharingLogIsRefused(t *testing.T) {
	t.Parallel()
	for what, change := range map[string][2]string{
		"an unknown metric":   {"all.event", "all.moon"},
		"a field too few":     {",disable,", ","},
		"a status in words":   {",202,", ",good,"},
		"a time in words":     {"1", "now,"},
		"a bad escape":        {"a%2C1", "a%ZZ1"},
		"nothing, and opened": {"", ""},
	} {
		o := emutest.With(emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 2,
			DB: filepath.Join(t.TempDir(), "facts.db"), SharingPartners: []string{"x.y z"}})
		s, stop := emutest.Start(t, o)
		sendSome(t, s)
		stop()
		db, err := sql.Open("sqlite", o.DB)
		if err == nil && change[0] != "" {
			_, err = db.Exec("UPDATE sharing SET lines = replace(lines, ?, ?)", change[0], change[1])
		}
		if err == nil {
			err = db.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		again, err := emulator.New(o)
		if err == nil {
			check(t, again.Close())
		}
		if refused := err != nil && strings.Contains(err.Error(), "read the log of sharing"); refused !=
			(change[0] != "") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestResetSharingByCall(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 2})
	sendSome2 := func() { postSharing(s, gpsForm+"&sharing=disable", "") }
	sendSome2()
	sendSome2()
	if n := s.Sharing().Duplicates; n != 1 {
		t.Errorf("%d duplicates of a record that was sent twice", n)
	}
	if got := admin(t, s, "POST", "reset-sharing", 200); got != "{}\n" || s.Sharing().Records != 0 {
		t.Errorf("%q, %+v", got, s.Sharing())
	}
	sendSome2()
	if got := arrivals(t, s, aDevice); len(got) != 1 || s.Sharing().Duplicates != 0 {
		t.Errorf("%q", got)
	}
}

// Many at once, of few devices: the log's order is that in which the settings were taken, on
// reopening too.
func TestSharingLogHasTheOrderOfTheBooks(t *testing.T) {
	t.Parallel()
	o := emutest.With(emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 2,
		DB: filepath.Join(t.TempDir(), "facts.db")})
	s, stop := emutest.Start(t, o)
	const senders, each = 8, 100
	var wg sync.WaitGroup
	for n := range senders {
		wg.Go(func() {
			for i := range each {
				device := fmt.Sprint("d", (n+i)%3)
				if status, answer := postSharing(s,
					"s2s=1&app_token=APP&idfa="+device+"&"+emutest.Form(sharing.OptionsName,
						fmt.Sprintf(`{"tiktok":{"n":"%d.%d"}}`, n, i)), ""); status != 200 {
					t.Error(answer)
				}
			}
		})
	}
	wg.Wait()
	states := func(s *emulator.Server) (out []emulator.SharingState) {
		for n := range 3 {
			out = append(out, s.SharingOf(s.Apps()[0].Token, "idfa", fmt.Sprint("d", n)))
		}
		return out
	}
	before, total := states(s), 0
	for n, state := range before {
		list := arrivals(t, s, fmt.Sprint("d", n))
		total += len(list)
		if want := "200   tiktok.n=" + state.Options["tiktok"]["n"]; len(list) != state.Arrivals ||
			list[len(list)-1] != want {
			t.Errorf("%d arrivals, the last %q, want %d and %q", len(list), list[len(list)-1], state.Arrivals, want)
		}
	}
	if total != senders*each || s.Sharing().Records != total {
		t.Errorf("%d arrivals", total)
	}
	stop()
	again, stop := emutest.Start(t, o)
	if after := states(again); !reflect.DeepEqual(after, before) {
		t.Errorf("reopened: %+v, want %+v", after, before)
	}
	stop()
	emutest.Change(t, o.DB, "INSERT INTO sharing (lines) VALUES ('1,200,x\n')")
	if s, err := emulator.New(o); err == nil || !strings.Contains(err.Error(), "read the log of sharing") {
		t.Errorf("a broken log is opened: %v", err)
		_ = s.Close()
	}
}

// Reading stops where the reader wants it to.
func TestSharingLogStops(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: func() time.Time { return emutest.Noon }, Apps: 1, Days: 2})
	for range 3 {
		postSharing(s, gpsForm+"&sharing=enable", "")
	}
	n := 0
	check(t, s.SharingLog(func(emulator.SharingArrival) bool { n++; return n < 2 }))
	if n != 2 || s.Sharing().Duplicates != 2 {
		t.Errorf("%d read", n)
	}
}
