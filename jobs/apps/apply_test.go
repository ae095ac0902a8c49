package apps

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// A full declaration is applied, and then nothing differs and nothing is sent.
func TestSecondRunChangesNothing(t *testing.T) {
	enforce := true
	full := game(1)
	full.Stores = map[string]string{"amazon": "B00X"}
	full.Sections = []string{"events", "partners", "callbacks"}
	full.Overrides = map[string]any{
		"callbacks": []any{map[string]any{"id": "global",
			"url": "https://u:p@in.example.com/?key=zz-hidden&id={idfa}"}},
		"attribution_settings": map[string]any{"click_device_matching": map[string]any{"window": uint64(86400),
			"enabled": true}},
	}
	full.Events = []Event{{"purchase", false}, {"registration", true}}
	full.Signature = &Signature{&enforce, []string{"c4:bd:07:91:bc:09:f9:b6:15:cd:bc:a3:3f:bc:68:8b:c2:ef:4f:f5"}}
	full.Editors = []string{"a@example.com"}
	ios := App{Name: "Game", BundleID: "com.example", StoreID: "123", Platform: "ios", IOSSecret: "ios-secret-zz",
		Verify: true}
	r := newRig(t, emulator.Options{Readings: known}, full, ios)
	if plan := strings.Join(r.diff(), "\n"); strings.Contains(plan, "zz") ||
		!strings.Contains(plan, "channel_setup.ironsource.password: (none) -> (not shown)") {
		t.Errorf("the plan is\n%s", plan)
	}
	r.wants(r.run(), 2, 0, 0)
	for _, rep := range r.told {
		if rep.Result != Created || rep.Token == "" || rep.Ticket == "" || len(rep.Sections) < 3 {
			t.Errorf("told %+v", rep)
		}
	}
	r.plans()
	for range 2 {
		before := r.tickets()
		res := r.run()
		r.wants(res, 0, 2, 0)
		if res.Outcome.Requests != 4 || r.tickets()["android/com.example.g1"] != before["android/com.example.g1"] {
			t.Errorf("%d requests to look at two apps; jobs before %v, now %v", res.Outcome.Requests, before,
				r.tickets())
		}
	}
	setup := r.details(full).ChannelSetup
	if setup["ironsource"]["password"] != "pass-word-zz" || len(setup["applovin"]["sdk_keys"].([]any)) != 2 {
		t.Errorf("the service has %v", setup)
	}
	if strings.Contains(r.log.String(), "zz") || strings.Contains(r.log.String(), rigToken) {
		t.Error("the log holds a secret")
	}
}

// Whatever is changed here or there is one line of the plan, and one request makes it good.
func TestChanges(t *testing.T) {
	a := game(1)
	matching := map[string]any{"click_device_matching": map[string]any{"enabled": true}}
	a.Overrides = map[string]any{"attribution_settings": matching}
	a.Events = []Event{{"purchase", false}}
	r := newRig(t, emulator.Options{Readings: asked}, a, game(2))
	r.wants(r.run(), 2, 0, 0)
	const id = "android/com.example.g1 "
	for _, c := range []struct {
		name   string
		change func(*App)
		jobs   int // that it takes
		plan   []string
	}{
		{"name", func(a *App) { a.Name = "Other" }, 0, []string{`name: "Game 1" -> "Other"`}},
		{"bundle", func(a *App) { a.BundleID = "com.other" }, 0,
			[]string{`bundle_id: "com.example.g1" -> "com.other"`}},
		{"store", func(a *App) { a.Stores = map[string]string{"huawei": "C1"} }, 0,
			[]string{`additional_stores.huawei: (none) -> "C1"`}},
		{"parameter", func(a *App) { a.Setup["facebook"]["app_id"] = "9" }, 1,
			[]string{`channel_setup.facebook.app_id: "1001" -> "9"`}},
		{"secret", func(a *App) { a.Setup["ironsource"]["password"] = Secret("other-zz") }, 1,
			[]string{`channel_setup.ironsource.password: (not shown) -> (not shown)`}},
		{"partner gone", func(a *App) { delete(a.Setup, "applovin") }, 1,
			[]string{`channel_setup.applovin.sdk_keys: (not shown) -> (none)`}},
		{"default", func(a *App) { a.Setup["tiktok"]["enabled"] = false }, 1,
			[]string{`channel_setup.tiktok.enabled: (none) -> false`}},
		{"override", func(a *App) {
			a.Overrides["callbacks"] = []any{map[string]any{"id": "global",
				"url": "https://x"}}
		}, 1,
			[]string{`override_settings.callbacks[global].id: (none) -> "global"`,
				`override_settings.callbacks[global].url: (none) -> "https://x"`}},
		{"override's item", func(a *App) {
			a.Overrides["callbacks"] = []any{map[string]any{"id": "global",
				"url": "https://y"}}
		}, 1,
			[]string{`override_settings.callbacks[global].url: "https://x" -> "https://y"`}},
		{"overrides gone", func(a *App) { a.Overrides = map[string]any{} }, 1, []string{
			`override_settings.attribution_settings.click_device_matching.enabled: true -> (none)`,
			`override_settings.callbacks[global].id: "global" -> (none)`,
			`override_settings.callbacks[global].url: "https://y" -> (none)`}},
		{"sections", func(a *App) { a.Sections = []string{"events"} }, 1,
			[]string{`sections: (not shown by the service) -> ["events"]`}},
		{"all sections", func(a *App) { a.Sections = nil }, 1,
			[]string{`sections: (not shown by the service) -> (none)`}},
		{"event", func(a *App) { a.Events = []Event{{"purchase", true}, {"level", false}} }, 0,
			[]string{`events[purchase].unique: false -> true`, `events[level].unique: (none) -> false`}},
		{"editors", func(a *App) { a.Editors = []string{"b@example.com"} }, 1,
			[]string{`editors: (not shown by the service) -> ["b@example.com"]`}},
		{"fingerprint", func(a *App) { a.Signature = &Signature{nil, []string{strings.Repeat("0A:", 19) + "0b"}} }, 0,
			[]string{`signature.android_fingerprints: [] -> ["` + strings.Repeat("0A:", 19) + `0B"]`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.T = t
			before := r.tickets()["android/com.example.g1"]
			c.change(&r.o.Apps[0])
			var want []string
			for _, line := range c.plan {
				want = append(want, id+line)
			}
			r.plans(want...)
			r.wants(r.run(), 1, 1, 0)
			if got := r.tickets()["android/com.example.g1"] - before; got != c.jobs {
				t.Errorf("%d jobs, want %d", got, c.jobs)
			}
			r.plans()
			r.wants(r.run(), 0, 2, 0)
		})
	}
}

// What isn't declared is left as it is, also when another field is sent with it.
func TestUndeclaredIsKept(t *testing.T) {
	r := newRig(t, emulator.Options{}, game(1))
	r.wants(r.run(), 1, 0, 0)
	r.o.Apps[0].Setup, r.o.Apps[0].Name = nil, "Other"
	r.plans(`android/com.example.g1 name: "Game 1" -> "Other"`)
	r.wants(r.run(), 1, 0, 0)
	d := r.details(r.o.Apps[0])
	if d.Name != "Other" || d.ChannelSetup["ironsource"]["password"] != "pass-word-zz" || len(d.ChannelSetup) != 4 {
		t.Errorf("the service has %q %v", d.Name, d.ChannelSetup)
	}
	r.o.Apps[0].Setup = map[string]map[string]any{}
	r.wants(r.run(), 1, 0, 0)
	if d = r.details(r.o.Apps[0]); len(d.ChannelSetup) != 0 {
		t.Errorf("the service still has %v", d.ChannelSetup)
	}
	r.wants(r.run(), 0, 1, 0)
}

// Drift in the service is found and mended, and a lost ledger costs no job where nothing differs.
func TestDriftAndLostLedger(t *testing.T) {
	r := newRig(t, emulator.Options{}, game(1), game(2))
	r.wants(r.run(), 2, 0, 0)
	a := r.o.Apps[1]
	drifted := a.request()
	drifted.ChannelSetup["facebook"]["app_id"], drifted.Name = "666", "Renamed"
	_, err := r.o.Client.CreateApp(context.Background(), drifted)
	r.check(err)
	r.plans(`android/com.example.g2 name: "Renamed" -> "Game 2"`,
		`android/com.example.g2 channel_setup.facebook.app_id: "666" -> "1002"`)
	r.wants(r.run(), 1, 1, 0)
	for _, c := range []struct {
		shown bool // of a flag that is true by default
		plan  []string
	}{{true, nil}, {false, []string{`android/com.example.g2 channel_setup.tiktok.enabled: false -> (none)`}}} {
		drifted = a.request()
		drifted.ChannelSetup["tiktok"]["enabled"] = c.shown
		_, err := r.o.Client.CreateApp(context.Background(), drifted)
		r.check(err)
		r.plans(c.plan...)
	}
	r.wants(r.run(), 1, 1, 0)
	before := r.tickets()
	r.o.Table, r.o.Job = "anew", "anew"
	r.plans()
	r.wants(r.run(), 0, 2, 0)
	if now := r.tickets(); now["android/com.example.g1"] != before["android/com.example.g1"] {
		t.Errorf("jobs before %v, now %v", before, now)
	}
}

// A section that fails makes its app fail and no other; the next run asks for another job, and only
// for that app.
func TestFailingJob(t *testing.T) {
	r := newRig(t, emulator.Options{Readings: known, JobFaults: []emulator.JobFault{
		{App: "com.example.g2", Section: "events", Detail: "the password pass-word-zz is wrong", Times: 1},
		{App: "com.example.g3", Section: "partners", Item: "facebook", Detail: "unknown app", Times: 1},
	}}, game(1), game(2), game(3))
	res := r.run()
	r.wants(res, 1, 0, 2)
	said := errors.Join(res.Errs...).Error()
	for _, part := range []string{"apply app android/com.example.g2: the migration failed: events: ",
		"Could not be started", "com.example.g3: the migration failed: partners: facebook: unknown app"} {
		if !strings.Contains(said, part) {
			t.Errorf("it isn't said that %q:\n%s", part, said)
		}
	}
	if strings.Contains(said+r.log.String(), "zz") {
		t.Error("a secret that the service repeats is shown")
	}
	if code := jobs.ExitCode([]ledger.Result{res}, false, true); code != jobs.ExitSome {
		t.Errorf("exit code %d", code)
	}
	before := r.tickets()
	r.wants(r.run(), 2, 1, 0)
	now := r.tickets()
	for id, want := range map[string]int{"android/com.example.g1": 0, "android/com.example.g2": 1,
		"android/com.example.g3": 1} {
		if now[id]-before[id] != want {
			t.Errorf("%s: %d more jobs, want %d", id, now[id]-before[id], want)
		}
	}
	r.wants(r.run(), 0, 3, 0)
}

// A migration that takes too long, or a run that is stopped while it waits, is taken up by the next
// run, without another job.
func TestSlowMigration(t *testing.T) {
	r := newRig(t, emulator.Options{Readings: known, TicketStep: -1}, game(1))
	r.o.TicketWait = 50 * time.Millisecond
	res := r.run()
	r.wants(res, 0, 0, 1)
	if !errors.Is(errors.Join(res.Errs...), adjust.ErrTicketOpen) {
		t.Errorf("it fails by %v", res.Errs)
	}
	r.o.TicketWait = time.Minute
	ctx, stop := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer stop()
	if res = r.within(ctx); res.Outcome.Done() != 0 {
		t.Errorf("%+v", res)
	}
	_, err := r.server.AdvanceTickets(100, "")
	r.check(err)
	r.wants(r.run(), 1, 0, 0)
	if n := r.tickets()["android/com.example.g1"]; n != 1 {
		t.Errorf("%d jobs", n)
	}
	r.wants(r.run(), 0, 1, 0)
}

// A refusal of the credentials is told as that, and ends the job.
func TestDenied(t *testing.T) {
	for _, c := range []struct {
		o     emulator.Options
		token string
	}{
		{emulator.Options{Token: "another"}, "wrong"}, {emulator.Options{NoAutomation: true}, "any"},
		{emulator.Options{Tokens: map[string]emulator.Role{"reader": emulator.RoleReader}}, "reader"},
	} {
		r := newRig(t, c.o, game(1), game(2))
		r.o.Client = r.client(c.token)
		res := r.run()
		if code := jobs.ExitCode([]ledger.Result{res}, false, true); code != jobs.ExitDenied || len(res.Errs) != 1 {
			t.Errorf("%+v: exit code %d: %v", c.o, code, res.Errs)
		}
	}
}

// The schedule says when to look; a changed declaration, or a failed run, doesn't wait for it.
func TestPlan(t *testing.T) {
	r := newRig(t, emulator.Options{Readings: known, JobFaults: []emulator.JobFault{{Section: "events", Times: 1}}},
		game(1))
	hourly, err := refresh.ParseSchedule("@hourly", "")
	r.check(err)
	r.o.Schedule, r.o.IgnoreSchedule = hourly, false
	due := func(now time.Time) bool {
		t.Helper()
		plan, err := New(r.o).Plan(context.Background(), now)
		r.check(err)
		return len(plan.Units) == 1
	}
	now := time.Now()
	if !due(now) {
		t.Error("what was never applied isn't due")
	}
	r.wants(r.run(), 0, 0, 1)
	if !due(now) {
		t.Error("what failed isn't due")
	}
	r.wants(r.run(), 1, 0, 0)
	if due(time.Now().Truncate(time.Hour).Add(59*time.Minute)) || !due(now.Add(61*time.Minute)) {
		t.Error("the schedule isn't followed")
	}
	r.o.Apps[0].Setup["ironsource"]["password"] = Secret("changed-zz")
	if !due(now) {
		t.Error("a changed declaration isn't due")
	}
}

// A run that is killed between any two of its calls is taken up by the next one: the app is made
// once, by one job, and is as declared at the end.
func TestKilledAnywhere(t *testing.T) {
	for calls := range 14 {
		a := game(1)
		a.Sections = []string{"events", "partners"}
		a.Events = []Event{{"purchase", true}}
		r := newRig(t, emulator.Options{Readings: asked}, a)
		r.o.Client = r.clientOver(rigToken, &http.Client{Transport: &dying{calls, r.server.Client().Transport}})
		r.run()
		r.o.Client = r.client(rigToken)
		r.run()
		r.wants(r.run(), 0, 1, 0)
		r.plans()
		if n := r.tickets()["android/com.example.g1"]; n != 1 {
			t.Errorf("after %d calls: %d jobs", calls, n)
		}
	}
}

// A shouting service shows other names than it takes. What it shows is no reason to send anything
// again, until it shows something else.
func TestShownOtherwise(t *testing.T) {
	r := newRig(t, emulator.Options{Readings: known}, game(1))
	shout := &shouting{name: "Game 1", word: "GAME 1", RoundTripper: r.server.Client().Transport}
	r.o.Client = r.clientOver(rigToken, &http.Client{Transport: shout})
	r.wants(r.run(), 1, 0, 0)
	if got := r.told[0].Otherwise; len(got) != 1 || got[0].String() != `name: "GAME 1" -> "Game 1"` {
		t.Errorf("shown otherwise: %v", got)
	}
	if !strings.Contains(r.log.String(), "level=WARN msg=\"the service took values and shows others\"") {
		t.Error("nobody is warned")
	}
	for range 2 {
		r.wants(r.run(), 0, 1, 0)
		r.plans()
	}
	reports, err := New(r.o).Diff(context.Background())
	r.check(err)
	if len(reports[0].Otherwise) != 1 || reports[0].Result != Unchanged {
		t.Errorf("the plan has %+v", reports[0])
	}
	known, err := New(r.o).Known(context.Background())
	r.check(err)
	if len(known) != 1 || !slices.Equal(known[0].Otherwise, []string{"name"}) {
		t.Errorf("the ledger knows %+v", known)
	}
	shout.word = "GAME ONE"
	r.plans(`android/com.example.g1 name: "GAME ONE" -> "Game 1"`)
	r.wants(r.run(), 1, 0, 0)
	r.wants(r.run(), 0, 1, 0)
}

// A run that was killed before it knew the ticket leaves it to the next one to ask how the
// migration went.
func TestUnknownTicket(t *testing.T) {
	r := newRig(t, emulator.Options{Readings: known, JobFaults: []emulator.JobFault{{Section: "events", Times: 1}}},
		game(1))
	r.o.Client = r.clientOver(rigToken, &http.Client{Transport: &dying{1, r.server.Client().Transport}})
	r.wants(r.run(), 0, 0, 1)
	r.o.Client = r.client(rigToken)
	if res := r.run(); !errors.Is(errors.Join(res.Errs...), ErrMigration) ||
		r.tickets()["android/com.example.g1"] != 1 {
		t.Errorf("%+v", res)
	}
	r.wants(r.run(), 1, 0, 0)
	r.wants(r.run(), 0, 1, 0)
}

// A migration that is completed with failures has failed.
func TestCompletedWithFailures(t *testing.T) {
	r := newRig(t, emulator.Options{Readings: known, JobFaults: []emulator.JobFault{{Section: "partners",
		Item: "facebook", Times: 1}}}, game(1))
	r.o.Client = r.clientOver(rigToken, &http.Client{Transport: &shouting{`"status":"failed"`, `"status":"completed"`,
		r.server.Client().Transport}})
	if res := r.run(); res.Outcome.Failed != 1 || !strings.Contains(errors.Join(res.Errs...).Error(),
		"partners: facebook") {
		t.Errorf("%+v", res)
	}
	r.wants(r.run(), 1, 0, 0)
}
