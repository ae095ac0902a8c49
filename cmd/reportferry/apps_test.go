package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
)

const twoApps = `apps:
  - name: Puzzle Quest
    bundle_id: com.example.puzzle
    store_id: com.example.puzzle
    platform: android
    sections: [events, partners, callbacks]
    channel_setup:
      facebook: {app_id: 1234567890}
      ironsource: {advertiser_id: 77, password: "${PW}"}
    override_settings:
      callbacks: [{id: global, url: "https://in.example.com/install?id={gps_adid}"}]
    events: [{name: purchase}, {name: registration, unique: true}]
    signature: {enforce_install_signing: true}
  - name: Puzzle Quest
    bundle_id: com.example.puzzle
    store_id: 1234567890
    platform: ios
    sections: [partners, skad_network_v4]
    channel_setup: {gameanalytics: {key: "${KEY}"}}
`

var (
	tookTime  = regexp.MustCompile(`\(\d+(\.\d+)?(ms|s)\)`)
	agoTime   = regexp.MustCompile(`\d+s ago *`)
	pastTime  = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)
	localPort = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	retries   = regexp.MustCompile(`retries \d+`)
	waitsRow  = regexp.MustCompile(`(?m)^  waits .*\n`)
	manyTries = regexp.MustCompile(`\d+ attempts? over [\d.]+m?s: `)
)

// steadyApps takes out what differs from run to run.
func steadyApps(p *place, stdout, stderr string) string {
	folded, unfold := strings.NewReplacer("\n    ", "\x00"), strings.NewReplacer("\x00", "\n    ")
	lines := strings.SplitAfter(folded.Replace(logTime.ReplaceAllString(stderr, "07:00:00 $1 ")), "\n")
	slices.Sort(lines) // of apps that are applied at once
	said := unfold.Replace(strings.Join(lines, "")) + stdout
	said = tookTime.ReplaceAllString(strings.ReplaceAll(said, p.dir, "/dir"), "(0s)")
	said = agoTime.ReplaceAllString(pastTime.ReplaceAllString(localPort.ReplaceAllString(said, "127.0.0.1"),
		"2026-01-01T00:00:00Z"), "1s ago")
	said = manyTries.ReplaceAllString(waitsRow.ReplaceAllString(retries.ReplaceAllString(said, "retries 0"), ""), "")
	return steady(runID.ReplaceAllString(said, "20260101T000000.000Z-1f2e3d4c"))
}

var secretID = regexp.MustCompile(`"id": (\d+)`)

// typed makes text the standard input.
func typed(t *testing.T, text string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stdin")
	check(t, os.WriteFile(path, []byte(text), 0o600))
	f, err := os.Open(path)
	check(t, err)
	before := os.Stdin
	os.Stdin = f
	t.Cleanup(func() { os.Stdin = before; _ = f.Close() })
}

// What people see of every command on apps, one after the other on one account. Nothing of it holds
// a secret.
func TestAppsText(t *testing.T) {
	p, server := newAppsPlace(t, emulator.Options{}, 2, twoApps)
	t.Chdir(p.dir)
	t.Setenv("TEST_TOKEN", p.token)
	for _, secret := range appSecrets {
		name, value, _ := strings.Cut(secret, "=")
		t.Setenv(name, value)
	}
	edit := func(old, new string) func() {
		return func() {
			data, err := os.ReadFile("apps.yaml")
			check(t, err)
			if !strings.Contains(string(data), old) {
				t.Fatalf("the file has no %q", old)
			}
			check(t, os.WriteFile("apps.yaml", []byte(strings.ReplaceAll(string(data), old, new)), 0o600))
		}
	}
	write := func(name, data string) func() {
		return func() { check(t, os.WriteFile(name, []byte(data), 0o600)) }
	}
	fail := func(f ...emulator.JobFault) func() { return func() { server.SetJobFaults(f) } }
	const app = "android/com.example.puzzle"
	for _, s := range []struct {
		name   string
		args   string
		code   int
		before func()
	}{
		{"status-none", "apps status", 0, nil},
		{"plan-new", "apps plan", 0, nil},
		{"plan-run", "plan", 0, nil},
		{"apply", "apps apply", 0, nil},
		{"plan-same", "apps plan", 0, nil},
		{"apply-same", "apps apply", 0, nil},
		{"run-same", "run", 0, nil},
		{"plan-changed", "apps plan", 0, edit("app_id: 1234567890", "app_id: 99")},
		{"plan-json-wide", "apps plan --json", 0, nil},
		{"apply-failing", "apps apply", 3, fail(emulator.JobFault{App: "com.example.puzzle", Section: "partners",
			Item: "facebook", Detail: "no such app", Times: 1})},
		{"status", "apps status", 0, nil},
		{"plan-failed", "apps plan", 0, nil},
		{"apply-one", "apps apply " + app, 0, nil},
		{"apply-migrate", "apps apply --migrate ios/1234567890", 0, nil},
		{"apply-unknown", "apps apply ios/1", 2, nil},
		{"table-status", "status --max-age 26h", 0, nil},
		{"backfill", "backfill account_apps --from 2026-01-01 --to 2026-01-02", 2, nil},
		{"list", "apps list", 0, nil},
		{"list-json", "apps list --json", 0, nil},
		{"get", "apps get " + app, 0, nil},
		{"get-unknown", "apps get ios/77", 1, nil},
		{"settings", "apps settings " + app + " --section app_info,signature,callbacks", 0, nil},
		{"events", "apps events " + app, 0, nil},
		{"events-add", "apps events " + app + " ios/1234567890 --add level_up --add-unique first_open", 0, nil},
		{"signature", "apps signature " + app, 0, nil},
		{"signature-change", "apps signature " + app + " --enforce=false --fingerprint " + strings.Repeat("0a:",
			19) + "0b", 0, nil},
		{"plan-drift", "apps plan", 0, nil},
		{"secrets-revoke", "apps secrets revoke-outdated " + app + " --min-active-version 4", 1, nil},
		{"secrets-force", "apps secrets revoke-outdated " + app + " --min-active-version 4 --force", 0, nil},
		{"vault-none", "apps vault list", 0, nil},
		{"vault-put", "apps vault put csv_upload_settings key.json", 0,
			write("key.json", `{"type": "S3", "bucket": "b", "key": "zz-key", "secret": "zz-secret"}`)},
		{"vault-google", "apps vault put purchase_verification --store google -", 0, nil},
		{"vault-list", "apps vault list", 0, nil},
		{"export-wide", "apps export --app " + app + " --section app_info,signature", 0, nil},
		{"help-needed", "apps get", 2, nil},
	} {
		t.Run(s.name, func(t *testing.T) {
			if s.before != nil {
				s.before()
			}
			var out, err bytes.Buffer
			typed(t, "zz-play-key\n")
			if code := execute(t.Context(), strings.Fields(s.args), &out, &err); code != s.code {
				t.Errorf("exit code %d, want %d: %s%s", code, s.code, &out, &err)
			}
			said := steadyApps(p, out.String(), err.String())
			if !strings.HasSuffix(s.name, "-wide") {
				golden(t, "apps-"+s.name, "$ reportferry "+wrapped(s.args)+said)
			}
			p.noSecrets(s.name, out.String()+err.String())
		})
	}
	managed, err := server.ManagedApps()
	check(t, err)
	ticket := managed[0].Tickets[0]
	out, _ := p.here("apps", "settings", app, "--section", "sdk_secrets")
	found := secretID.FindStringSubmatch(out)
	if found == nil {
		t.Fatalf("no secret in %s", out)
	}
	for _, args := range [][]string{{"apps", "status", ticket}, {"apps", "status", ticket, "--json"},
		{"apps", "status", ticket, "--wait"},
		{"apps", "secrets", "reactivate", app, found[1], "--scope", "all-traffic"},
		{"apps", "secrets", "revoke", app, found[1]}, {"apps", "settings", app},
		{"apps", "export", "--out", "all.csv"}} {
		out, code := p.here(args...)
		if code != 0 {
			t.Errorf("%v: exit code %d: %s", args, code, out)
		}
		p.noSecrets(strings.Join(args, " "), out)
	}
	info, err := os.Stat("all.csv")
	check(t, err)
	data, err := os.ReadFile("all.csv")
	check(t, err)
	if info.Mode().Perm() != 0o600 || bytes.Count(data, []byte("\n")) < 50 {
		t.Errorf("the export: %v, %d bytes", info.Mode(), len(data))
	}
	p.noSecrets("the export", string(data))
	p.noSecretsInFiles()
	left, err := filepath.Glob("*.tmp")
	check(t, err)
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
