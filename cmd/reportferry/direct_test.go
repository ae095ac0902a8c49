package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// A newcomer who has a token and nothing else looks at the account from an empty folder, which
// stays empty.
func TestWithoutConfig(t *testing.T) {
	const token = "token-of-the-newcomer"
	base, stop := serveEmulator(t, "--apps", "3", "--days", "20", "--token", token, "--rate", "-1")
	defer stop()
	t.Chdir(t.TempDir())
	t.Setenv("REPORTFERRY_CONFIG", "")
	t.Setenv("ADJUST_TOKEN", token)
	const app = "android/com.example.newcomer"
	for _, c := range []struct {
		args string
		says []string
	}{
		{"report --dimensions day,network --metrics installs,cost --currency USD --date-period -2d:-1d",
			[]string{"day,network,installs,cost\n", "Organic"}},
		{"report --dimensions app,creative_id --metrics installs --currency USD --format jsonl",
			[]string{`"creative_id":"unknown"`, `"creative_id":"3000`, `"installs":`}},
		{"events --search level", []string{"SLUG", "level_"}},
		{"events --json", []string{"app_token_x_event_tokens_mapping"}},
		{"events --log-format json", []string{"app_token_x_event_tokens_mapping"}},
		{"apps list", []string{"TOKEN", "apps\n"}},
		{"apps list --json", []string{"["}},
		{"apps vault list", []string{"SECTION", "0 records"}},
		{"apps export --section signature", []string{"app_token,"}},
	} {
		code, out, errs := inProcess(t, c.args+" --base-url "+base)
		if code != 0 || errs != "" {
			t.Errorf("%s: exit code %d: %s", c.args, code, errs)
		}
		for _, want := range c.says {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", c.args, want, out)
			}
		}
	}
	if code, _, errs := inProcess(t, "apps get "+app+" --base-url "+base); code != 1 ||
		!strings.Contains(errs, "it isn't there") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if code, _, errs := inProcess(t, "report --dimensions day,os_nam --metrics installs --base-url "+base); code != 1 ||
		!strings.Contains(errs, "did you mean os_name?") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if code, _, errs := inProcess(t, "run"); code != 2 || !strings.Contains(errs, "`reportferry init` writes one") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	left, err := os.ReadDir(".")
	check(t, err)
	if len(left) > 0 {
		t.Errorf("the folder has %v", left)
	}
}

// A config whose only job pushes spend needs no API token and no host of reports, and where nobody
// asks for one no key either.
func TestSpendWithoutToken(t *testing.T) {
	base, stop := serveEmulator(t, "--open-spend")
	defer stop()
	t.Chdir(t.TempDir())
	t.Setenv("ADJUST_TOKEN", "")
	const job = "jobs: [{name: s, kind: spend, source: file://./in/*.csv, rejects: file://./rejects, " +
		"wait_until_quiet: 0}]\n"
	check(t, os.WriteFile("c.yml", []byte("service: {cost_url: "+base+"}\nledger: file://./ledger\n"+job), 0o600))
	check(t, os.Mkdir("in", 0o700))
	check(t, os.WriteFile("in/a.csv", []byte("cost_id,cost_type,cost_currency,cost_amount,tag\nabcdefabcdef1,cpi,"+
		"usd,1.5,t\n"), 0o600))
	for _, c := range []struct{ args, says string }{
		{"spend check --config c.yml in/a.csv", "1"}, {"spend push --config c.yml", "sent 1, unchanged 0, failed 0"},
		{"check --config c.yml", "no API token is needed"},
	} {
		if code, out, errs := inProcess(t, c.args); code != 0 || !strings.Contains(out+errs, c.says) {
			t.Errorf("%s: exit code %d: %s%s", c.args, code, out, errs)
		}
	}
	if code, _, errs := inProcess(t, "report --config c.yml --dimensions day --metrics installs"); code != 2 ||
		!strings.Contains(errs, "no API token") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	check(t, os.WriteFile("c.yml",
		[]byte("service: {cost_url: "+base+", base_url: "+base+", token: \"${ADJUST_TOKEN}\"}\nledger: "+
			"file://./ledger\n"+job), 0o600))
	if code, out, errs := inProcess(t, "spend push --config c.yml"); code != 0 {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

// Whom the commands ask, and with which token: the flags, else the config, else the defaults.
// Nothing that may be a token is repeated.
func TestWhomToAsk(t *testing.T) {
	const token = "sEcReT0fTheTest"
	base, stop := serveEmulator(t, "--apps", "1", "--days", "3", "--token", token, "--rate", "-1")
	defer stop()
	closed := "service: {base_url: http://127.0.0.1:1, attempts: 1, "
	for _, c := range []struct {
		name, config, args, env string // env: a variable that has the token
		code                    int
		says                    string
	}{
		{"the token isn't set", "", "--base-url " + base, "", 2, "put the token into ADJUST_TOKEN"},
		{"the name that the service's own clients have", "", "--base-url " + base, "ADJUST_API_TOKEN", 0, ""},
		{"the same in a config", "service: {base_url: " + base + ", token: '${ADJUST_TOKEN}'}\n", "",
			"ADJUST_API_TOKEN", 0, ""},
		{"another variable", "", "--token-env OTHER --base-url " + base, "OTHER", 0, ""},
		{"another variable, which isn't set", "", "--token-env OTHER --base-url " + base, "ADJUST_TOKEN", 2,
			"the environment variable that --token-env names is not set"},
		{"the token in the place of its name", "", "--token-env " + token + " --base-url " + base, "", 2,
			"never on the command line"},
		{"no name of a variable", "", "--token-env " + token + "/+ --base-url " + base, "", 2,
			"want the name of an environment variable"},
		{"a host in clear text", "", "--base-url http://example.com", "ADJUST_TOKEN", 2,
			"--base-url: http would send the token in clear"},
		{"a host with a credential", "", "--base-url https://" + token + "@example.com", "ADJUST_TOKEN", 2,
			"--base-url: want scheme, host and path only"},
		{"a config that isn't there", "", "--config my.yml --base-url " + base, "ADJUST_TOKEN", 2,
			"read config: open my.yml"},
		{"the usual config, named", "", "--config reportferry.yml --base-url " + base, "ADJUST_TOKEN", 2,
			"read config: open reportferry.yml"},
		{"a config without jobs", "service: {base_url: " + base + ", token: '${OTHER}'}\n", "", "OTHER", 0, ""},
		{"its token isn't set", "service: {base_url: " + base + ", token: '${ADJUST_TOKEN}'}\n", "", "", 2,
			"put the token into ADJUST_TOKEN"},
		{"another host than the config's", closed + "token: '${OTHER}'}\n", "--base-url " + base, "OTHER", 0, ""},
		{"another token than the config's", "service: {base_url: " + base + ", token: '${OTHER}'}\n",
			"--token-env MINE", "MINE", 0, ""},
		{"the config's host counts", closed + "token: '${OTHER}'}\n", "", "OTHER", 1, "127.0.0.1:1"},
		{"a wrong config", "service: {base_url: " + base + "}\n", "--base-url " + base, "ADJUST_TOKEN", 2,
			`required key "token" is missing`},
		{"the embedded service", "service: embedded\n", "", "", 0, ""},
		{"a token for the embedded service", "service: embedded\n", "--token-env OTHER", "OTHER", 2,
			"--token-env: the config's service is embedded"},
		{"another service than the embedded one", "service: embedded\n", "--base-url " + base, "", 2,
			"put the token into ADJUST_TOKEN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for _, name := range []string{"REPORTFERRY_CONFIG", "ADJUST_TOKEN", "OTHER", "MINE"} {
				t.Setenv(name, "")
			}
			if c.env != "" {
				t.Setenv(c.env, token)
			}
			if c.config != "" {
				check(t, os.WriteFile("reportferry.yml", []byte(c.config), 0o600))
			}
			code, out, errs := inProcess(t, "apps vault list "+c.args)
			if code != c.code || !strings.Contains(errs, c.says) || strings.Contains(out+errs, token) {
				t.Errorf("exit code %d, want %d with %q:\n%s%s", code, c.code, c.says, errs, out)
			}
		})
	}
	t.Run("a named config from the environment", func(t *testing.T) {
		t.Chdir(t.TempDir())
		t.Setenv("ADJUST_TOKEN", token)
		t.Setenv("REPORTFERRY_CONFIG", "reportferry.yml")
		if code, _, errs := inProcess(t, "events --base-url "+base); code != 2 ||
			!strings.Contains(errs, "read config: open reportferry.yml") {
			t.Errorf("exit code %d: %s", code, errs)
		}
	})
	t.Run("no jobs", func(t *testing.T) {
		t.Chdir(t.TempDir())
		check(t, os.WriteFile("reportferry.yml", []byte("service: embedded\n"), 0o600))
		for _, args := range []string{"run", "run some", "plan", "status", "check",
			"backfill some --from 2026-01-01 --to 2026-01-02"} {
			if code, _, errs := inProcess(t, args); code != 2 || !strings.Contains(errs, "the config has no jobs") {
				t.Errorf("%s: exit code %d: %s", args, code, errs)
			}
		}
		for _, args := range []string{"serve", "apps plan", "spend status"} {
			if code, _, errs := inProcess(t, args); code != 2 || !strings.Contains(errs, "no job") {
				t.Errorf("%s: exit code %d: %s", args, code, errs)
			}
		}
	})
}

// inProcess runs a command line in this process.
func inProcess(t *testing.T, args string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = execute(t.Context(), strings.Fields(args), &out, &errs)
	return code, out.String(), errs.String()
}
