package main

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/slow"
)

const appsConfig = `
service: {base_url: %s, token: "${TEST_TOKEN}", rate: 10000, in_flight: 8, attempts: %d, patience: 20s}
ledger: file://./ledger
lease: %s
jobs:
  - {name: account_apps, kind: apps, file: apps.yaml, ticket_wait: 20s}
`

// newAppsPlace is a folder with a file of apps, and the service in this process.
func newAppsPlace(t *testing.T, o emulator.Options, attempts int, file string) (*place, *emulator.Server) {
	t.Helper()
	o.Apps, o.Days, o.Rate = 3, 10, -1
	server, err := emulator.New(emutest.With(o))
	check(t, err)
	web := httptest.NewServer(server)
	t.Cleanup(func() { web.Close(); check(t, server.Close()) })
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "reportferry.yml"), fmt.Appendf(nil, appsConfig, web.URL, attempts,
		living), 0o600))
	check(t, os.WriteFile(filepath.Join(dir, "apps.yaml"), []byte(file), 0o600))
	return &place{t: t, dir: dir, token: "secret-token-of-the-test", service: &service{url: web.URL}}, server
}

// manyApps declares n apps, each with secrets.
func manyApps(n int) string {
	var b strings.Builder
	b.WriteString("apps:\n")
	for i := range n {
		if i%4 == 3 {
			fmt.Fprintf(&b, "  - {name: Game %d, bundle_id: com.example.g%d, store_id: %d, platform: ios, "+
				"ios_pv_shared_secret: \"${PV}\",\n"+
				"     channel_setup: {gameanalytics: {key: \"${KEY}\"}, unityads: {game_id: %d}}}\n", i, i, 1_000_000+i,
				i)
			continue
		}
		fmt.Fprintf(&b, "  - {name: Game %d, bundle_id: com.example.g%d, store_id: com.example.g%d, platform: "+
			"android, sections: [events, partners, trackers],\n"+
			"     channel_setup: {facebook: {app_id: %d}, ironsource: {advertiser_id: 7, password: \"${PW}\"}, "+
			"applovin: {sdk_keys: [\"${KEY}\"]}},\n"+
			"     override_settings: {csv_upload_settings: {credentials: {secret: \"${S3}\"}}, callbacks: [{id: "+
			"global, url: \"https://in.example.com/%d\"}]},\n"+
			"     events: [{name: purchase_%d}, {name: level, unique: true}], signature: {enforce_install_signing: "+
			"true}}\n", i, i, i, i, i, i)
	}
	return b.String()
}

var appSecrets = []string{"PW=zz-pass-word", "KEY=zz-sdk-key", "S3=zz-s3-secret", "PV=zz-pv-secret"}

// random faults on every route, of which some exhaust the attempts of a request.
func appFaults() []emulator.Fault {
	status := func(path string, status, every int) emulator.Fault {
		return emulator.Fault{Path: path, Kind: emulator.FaultStatus, Status: status, Every: every}
	}
	return []emulator.Fault{
		{Path: "/app", Kind: emulator.FaultLost, Every: 17}, status("/app", 500, 11), status("/app", 429, 19),
		{Path: "/app", Kind: emulator.FaultReset, Every: 23},
		status("", 500, 29), status("", 429, 37), {Kind: emulator.FaultLost, Every: 41},
		{Kind: emulator.FaultCut, Every: 43, AfterBytes: 20}, status("", 503, 47),
		{Kind: emulator.FaultLost, Status: 500, Every: 53},
	}
}

// Many apps, faults of all sorts, a job that fails for ever, and SIGKILL: every run comes nearer,
// no app is made twice, the failing app stops no other, and at the end nothing differs and nothing
// is sent.
func TestAppsConverge(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	n := min(10**kills, 400)
	p, server := newAppsPlace(t, emulator.Options{TicketStep: 20 * time.Millisecond, Token: "secret-token-of-the-test",
		Faults: appFaults(), JobFaults: []emulator.JobFault{
			{App: "com.example.g8", Section: "events"}, {App: "com.example.g9", Section: "partners", Item: "facebook",
				Times: 3},
		}}, 3, manyApps(n))
	p.env = appSecrets
	most := (*kills + 3) / 4 // each costs a lease
	t.Logf("seed %d, %d kills, %d apps", *killSeed, most, n)
	dice := rand.New(rand.NewPCG(*killSeed, 0))
	said, partly := "", 0
	p.leases(dying)
	for range most {
		cmd, out := p.command(t.Context(), "apps", "apply", "--log-level", "debug", "--log-format", "json")
		before := jobsOf(t, server)
		check(t, cmd.Start())
		// The next run waits for the end of the dead one's lease.
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline) && jobsOf(t, server) == before; {
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(time.Duration(dice.Int64N(int64(700 * time.Millisecond))))
		check(t, cmd.Process.Kill())
		_ = cmd.Wait() // killed
		said += out.String()
		managed, err := server.ManagedApps()
		check(t, err)
		if len(managed) > 0 && len(managed) < n {
			partly++
		}
	}
	p.leases(living)
	runs, code := 0, 0
	done := 0
	for done < n-1 && runs < 15 { // until nothing but the failing job is left
		out, exit := p.run("apps", "apply", "--log-level", "debug", "--log-format", "json")
		said, code = said+out, exit
		done = strings.Count(p.output("apps", "status", "--json"), `"state":"done"`)
		runs++
		t.Logf("run %d: exit code %d, %d apps done", runs, code, done)
	}
	if code != 3 || done != n-1 {
		t.Fatalf("exit code %d, %d apps done after %d runs: %s", code, done, runs, said[max(0, len(said)-3000):])
	}
	server.SetJobFaults(nil)
	server.SetFaults(nil)
	out, code := p.run("apps", "apply", "--log-level", "debug")
	if said += out; code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	before := len(server.Requests())
	out, code = p.run("apps", "apply", "--log-level", "debug")
	if said += out; code != 0 || !strings.Contains(out, fmt.Sprintf("sent 0, unchanged %d,", n)) {
		t.Fatalf("exit code %d: %s", code, out)
	}
	for _, r := range server.Requests()[before:] {
		if r.Method != "GET" {
			t.Errorf("a run that has nothing to do sends %s %s", r.Method, r.Path)
		}
	}
	managed, err := server.ManagedApps()
	check(t, err)
	seen, jobs := map[string]bool{}, 0
	for _, a := range managed {
		if seen[a.Platform+a.StoreID] {
			t.Errorf("the app %s was made twice", a.StoreID)
		}
		seen[a.Platform+a.StoreID] = true
		jobs += len(a.Tickets)
	}
	if len(managed) != n {
		t.Errorf("%d apps", len(managed))
	}
	if out, code = p.run("apps", "plan"); code != 0 ||
		out != fmt.Sprintf("%d apps: 0 to be created, 0 to be changed, %d as declared\n", n, n) {
		t.Errorf("exit code %d: %s", code, out)
	}
	p.noSecrets("the output", said+out)
	p.noSecretsInFiles()
	t.Logf("%d of %d kills hit a run half way; %d runs to the end, %d jobs for %d apps, %d requests", partly, most,
		runs, jobs, n, len(server.Requests()))
}

// output is what a command says that must go well.
func (p *place) output(args ...string) string {
	p.t.Helper()
	out, code := p.run(args...)
	if code != 0 {
		p.t.Fatalf("%v: exit code %d: %s", args, code, out)
	}
	return out
}

func (p *place) noSecrets(where, text string) {
	p.t.Helper()
	for _, secret := range []string{"zz-", p.token} {
		if i := strings.Index(text, secret); i >= 0 {
			p.t.Errorf("%s holds a secret: ...%s", where, text[max(0, i-200):min(len(text), i+30)])
		}
	}
}

// noSecretsInFiles looks through all that the program has written: records of runs and of apps.
func (p *place) noSecretsInFiles() {
	p.t.Helper()
	files := 0
	check(p.t, filepath.WalkDir(filepath.Join(p.dir, "ledger"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		p.noSecrets(path, string(data))
		return err
	}))
	if files == 0 {
		p.t.Error("nothing was written")
	}
}

// jobsOf counts the jobs of all apps.
func jobsOf(t *testing.T, server *emulator.Server) (n int) {
	t.Helper()
	managed, err := server.ManagedApps()
	check(t, err)
	for _, a := range managed {
		n += len(a.Tickets)
	}
	return n
}

// A run that waits for migrations ends at once when it is told to, with 130, and the next one goes
// on waiting.
func TestAppsTerminated(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	p, server := newAppsPlace(t, emulator.Options{TicketStep: -1}, 2, manyApps(20))
	p.env = appSecrets
	cmd, out := p.command(t.Context(), "apps", "apply")
	check(t, cmd.Start())
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if managed, err := server.ManagedApps(); err == nil && len(managed) == 20 {
			break
		}
	}
	start := time.Now()
	check(t, cmd.Process.Signal(syscall.SIGTERM))
	_ = cmd.Wait() // 130
	if code := cmd.ProcessState.ExitCode(); code != 130 || time.Since(start) > 9*time.Second ||
		!strings.Contains(out.String(), "The next run goes on") {
		t.Errorf("exit code %d after %v: %s", code, time.Since(start), out)
	}
	if _, err := server.AdvanceTickets(100, ""); err != nil {
		t.Fatal(err)
	}
	if said, code := p.run("apps", "apply"); code != 0 || !strings.Contains(said, "sent 20, unchanged 0,") {
		t.Errorf("exit code %d: %s", code, said)
	}
	managed, err := server.ManagedApps()
	check(t, err)
	for _, a := range managed {
		if len(a.Tickets) != 1 {
			t.Errorf("%s has %d jobs", a.StoreID, len(a.Tickets))
		}
	}
}
