package apps

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// byToken declares an app of the account, whose store nobody needs to know.
func byToken(r *rig, n int) App {
	return App{
		Token: r.server.Apps()[n].Token, Name: "Renamed",
		Setup:  map[string]map[string]any{"facebook": {"app_id": "77"}},
		Events: []Event{{"boss_beaten", true}},
	}
}

// posted counts the requests of a method to a path.
func (r *rig) posted(path string) (n int) {
	for _, q := range r.server.Requests() {
		if q.Method == http.MethodPost && q.Path == "/app-automation"+path {
			n++
		}
	}
	return n
}

// An app that is declared by its token is updated by it and never made, whatever an update answers;
// what isn't declared stays, and the second run changes nothing.
func TestAppsByToken(t *testing.T) {
	for _, answers := range []string{"created", "details", "wrapped", "empty-object", "204"} {
		r := newRig(t, emulator.Options{Readings: append([]string{"update-answer=" + answers}, known...)})
		a := byToken(r, 1)
		r.o.Apps = []App{a}
		r.wants(r.run(), 1, 0, 0)
		if rep := r.told[0]; rep.Result != Changed || rep.Token != a.Token || rep.ID != "token/"+a.Token {
			t.Errorf("%s: told %+v", answers, rep)
		}
		r.plans()
		for range 2 {
			r.wants(r.run(), 0, 1, 0)
		}
		if r.posted("/app") != 0 || r.posted("/app/"+a.Token) != 1 {
			t.Errorf("%s: %d apps were made, %d updated", answers, r.posted("/app"), r.posted("/app/"+a.Token))
		}
		now, err := r.o.Client.App(t.Context(), a.Token)
		r.check(err)
		if now.Name != "Renamed" || now.ChannelSetup["facebook"]["app_id"] != "77" || now.StoreID == "" ||
			len(r.server.Apps()) != 3 {
			t.Errorf("%s: %+v", answers, now)
		}
		// What is changed next is one request again, and what isn't declared any more stays.
		r.o.Apps[0].Name, r.o.Apps[0].Setup = "Renamed again", nil
		r.plans(fmt.Sprintf(`token/%s name: "Renamed" -> "Renamed again"`, a.Token))
		r.wants(r.run(), 1, 0, 0)
		r.wants(r.run(), 0, 1, 0)
		if now, err = r.o.Client.App(t.Context(), a.Token); err != nil || now.Name != "Renamed again" ||
			now.ChannelSetup["facebook"]["app_id"] != "77" {
			t.Errorf("%s: %+v, %v", answers, now, err)
		}
	}
}

// A token that the account lacks is an error of that app, in every run: nothing is made, and the
// other apps are applied.
func TestUnknownToken(t *testing.T) {
	for _, absent := range []string{"400", "400-words", "404", "403", "204", "422", "empty-object", "empty-list",
		"null"} {
		r := newRig(t, emulator.Options{Readings: append([]string{"app-absent=" + absent}, known...)},
			App{Token: "nosuchapp123", Name: "Ghost"}, game(1))
		for i, written := range []int{1, 0} {
			res := r.run()
			r.wants(res, written, i, 1)
			if said := errors.Join(res.Errs...).Error(); !strings.Contains(said, "token/nosuchapp123") ||
				jobs.ExitCode([]ledger.Result{res}, false, true) != jobs.ExitSome {
				t.Errorf("%s: %s", absent, said)
			}
		}
		if all, err := r.server.ManagedApps(); err != nil || len(all) != 1 {
			t.Errorf("%s: %d apps, %v", absent, len(all), err)
		}
	}
}

// A run on an app by its token that is killed between any two of its calls is taken up by the next
// one, also when an update gives no ticket to wait for.
func TestKilledByToken(t *testing.T) {
	for calls := range 28 {
		r := newRig(t, emulator.Options{Readings: append([]string{[]string{"update-answer=created",
			"update-answer=details"}[calls/14]}, known...)})
		a := byToken(r, 0)
		r.o.Apps = []App{a}
		r.o.Client = r.clientOver(rigToken, &http.Client{Transport: &dying{calls % 14, r.server.Client().Transport}})
		r.run()
		r.o.Client = r.client(rigToken)
		r.run()
		r.wants(r.run(), 0, 1, 0)
		r.plans()
		managed, err := r.server.ManagedApps()
		r.check(err)
		if len(managed) != 1 || len(managed[0].Tickets) > 2 {
			t.Errorf("after %d calls: %+v", calls, managed)
		}
	}
}

// refusing answers 403 to the reads of these paths, and to nothing else.
func refusing(paths ...string) func(*http.Request, answer) answer {
	return func(q *http.Request, as answer) answer {
		for _, path := range paths {
			if q.Method == http.MethodGet && strings.HasPrefix(q.URL.Path, "/app-automation"+path) {
				return answer{403, `{"error_code":"auth_error","error_desc":"No access"}`}
			}
		}
		return as
	}
}

// A token that may make apps makes them, whatever it may not read: neither the vault nor anything
// else speaks for POST.
func TestRefusedReads(t *testing.T) {
	for name, paths := range map[string][]string{
		"the lookup":                             {"/app"},
		"the lookup and the list":                {"/app", "/apps/list"},
		"the lookup, the list and the vault":     {"/app", "/apps/list", "/vault"},
		"everything but how a migration went":    {"/app", "/vault", "/settings"},
		"the list and the vault, not the lookup": {"/apps/list", "/vault"},
	} {
		r := newRig(t, emulator.Options{Readings: plainly}, game(1), game(2))
		r.o.Apps[1].Setup = nil
		r.o.Client = r.clientOver(rigToken, &http.Client{Transport: &talking{refusing(paths...),
			r.server.Client().Transport}})
		r.wants(r.run(), 2, 0, 0)
		if n := len(r.tickets()); n != 2 {
			t.Errorf("%s: %d apps", name, n)
		}
	}
}

// When every read of a token is refused, what is there can't be compared: that is said, and isn't
// taken for agreement.
func TestNothingToRead(t *testing.T) {
	r := newRig(t, emulator.Options{Readings: plainly}, game(1))
	r.wants(r.run(), 1, 0, 0)
	r.o.Client = r.clientOver(rigToken, &http.Client{Transport: &talking{refusing("/app", "/vault"),
		r.server.Client().Transport}})
	res := r.run()
	r.wants(res, 0, 0, 1)
	if code := jobs.ExitCode([]ledger.Result{res}, false, true); code != jobs.ExitDenied ||
		!strings.Contains(errors.Join(res.Errs...).Error(), "can't be read") {
		t.Errorf("exit code %d: %v", code, res.Errs)
	}
	reports, err := New(r.o).Diff(t.Context())
	r.check(err)
	if !errors.Is(reports[0].Err, adjust.ErrAuth) {
		t.Errorf("the plan: %+v", reports[0])
	}
	if r.posted("/app") != 1 {
		t.Errorf("%d requests", r.posted("/app"))
	}
}

// Whoever may be cleared of its channel setup is named before and while it is sent.
func TestWarning(t *testing.T) {
	r := newRig(t, emulator.Options{Readings: append([]string{"apps-list=denied", "app-absent=400-words"}, known...)},
		game(1))
	warned := func(want string) {
		t.Helper()
		reports, err := New(r.o).Diff(t.Context())
		r.check(err)
		r.run()
		for _, rep := range append(reports, r.told...) {
			if rep.Err != nil || (rep.Warning == "") != (want == "") || !strings.Contains(rep.Warning, want) {
				t.Errorf("%+v, want the warning %q", rep, want)
			}
		}
	}
	warned("") // it is declared
	r.o.Apps = []App{{Name: "Plain", BundleID: "com.example.p", StoreID: "com.example.p", Platform: "android"}}
	warned("clears its channel_setup")
	warned("") // it is known now
	r.o.Apps = []App{{Token: r.server.Apps()[0].Token, Name: "Other"}}
	warned("an update may clear it")
	warned("")
	if !strings.Contains(r.log.String(), "clears its channel_setup") {
		t.Error("the log doesn't warn")
	}
}

var frames = regexp.MustCompile(
	`"(adjust_app_token|app_token|name|store_id|bundle_id|platform|ticket_token|channel_setup|additional_info|overrides|status|result|kind|` +
		`failures|successes|section|details?|event|token|unique|stores|events|app_info|apps|data|app)":`)

// capitals writes the names of an answer's fields in capitals.
func capitals(_ *http.Request, as answer) answer {
	as.body = frames.ReplaceAllStringFunc(as.body, strings.ToUpper)
	return as
}

// The names of fields are the same in any case: an app is made once, what fails is noticed, and
// then nothing differs.
func TestNamesInCapitals(t *testing.T) {
	for _, form := range []string{"object", "app", "apps"} {
		r := newRig(t, emulator.Options{
			Readings:  append([]string{"app-answer=" + form, "apps-list=data"}, known...),
			JobFaults: []emulator.JobFault{{Section: "partners", Item: "facebook", Detail: "no such app", Times: 1}},
		}, game(1))
		r.o.Apps[0].Events = []Event{{"level", true}}
		r.o.Client = r.clientOver(rigToken, &http.Client{Transport: &talking{capitals, r.server.Client().Transport}})
		res := r.run()
		if r.wants(res, 0, 0, 1); !strings.Contains(errors.Join(res.Errs...).Error(), "no such app") {
			t.Errorf("%s: %v", form, res.Errs)
		}
		r.wants(r.run(), 1, 0, 0)
		r.wants(r.run(), 0, 1, 0)
		if list, err := List(t.Context(), r.o.Client); err != nil || len(list) != 1 || list[0].AppToken == "" ||
			len(list[0].Unknown) > 0 {
			t.Errorf("%s: the list is %+v, %v", form, list, err)
		}
		if n := r.tickets()[game(1).ID()]; n != 2 {
			t.Errorf("%s: %d jobs, want 2", form, n)
		}
	}
}

// denying answers 403 to whatever is sent to these apps' tokens, or makes them by these store IDs.
func denying(apps ...string) func(*http.Request, answer) answer {
	return func(q *http.Request, as answer) answer {
		if q.Method != http.MethodPost || q.GetBody == nil {
			return as
		}
		body, err := q.GetBody()
		if err != nil {
			return as
		}
		text, err := io.ReadAll(body)
		for _, app := range apps {
			if err == nil && strings.Contains(q.URL.Path+string(text), app) {
				return answer{403, `{"error_code":"auth_error","error_desc":"No access to this app"}`}
			}
		}
		return as
	}
}

// A refusal of one app is that app's failure. When all that is sent is refused, the token is.
func TestRefusedApps(t *testing.T) {
	for _, c := range []struct {
		refused      []string
		done, failed int
		code         int
	}{
		{[]string{"com.example.g1"}, 2, 1, jobs.ExitSome},
		{[]string{"com.example.g1", "com.example.g2", "com.example.g3"}, 0, 3, jobs.ExitDenied},
	} {
		r := newRig(t, emulator.Options{Readings: plainly}, game(1), game(2), game(3))
		r.o.Client = r.clientOver(rigToken, &http.Client{Transport: &talking{denying(c.refused...),
			r.server.Client().Transport}})
		res := r.run()
		r.wants(res, c.done, 0, c.failed)
		if code := jobs.ExitCode([]ledger.Result{res}, false, true); code != c.code {
			t.Errorf("%v: exit code %d, want %d: %v", c.refused, code, c.code, res.Errs)
		}
	}
}

// The settings of an app can be compared when nothing else can: then nothing of it is refused
// everywhere.
func TestSettingsSpeakForTheToken(t *testing.T) {
	r := newRig(t, emulator.Options{Readings: plainly}, game(1))
	r.wants(r.run(), 1, 0, 0)
	all := refusing("/app", "/vault")
	r.o.Client = r.clientOver(rigToken, &http.Client{Transport: &talking{func(q *http.Request, as answer) answer {
		if strings.HasSuffix(q.URL.Path, "/settings") {
			return as
		}
		return all(q, as)
	}, r.server.Client().Transport}})
	r.wants(r.run(), 0, 1, 0)
	r.plans()
}
