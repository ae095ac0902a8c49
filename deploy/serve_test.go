package deploy

import (
	"encoding/json"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// unit gives the values of a key of the service, in their order.
func unit(t *testing.T, key string) (values []string) {
	t.Helper()
	for line := range strings.Lines(read(t, "systemd/reportferry.service")) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), key+"="); found {
			values = append(values, value)
		}
	}
	return values
}

// The service starts the program by flags that it has, isn't restarted by what no restart mends,
// and lets it end by itself. systemd itself finds nothing wrong where it is installed, and that
// little is left open.
func TestSystemdService(t *testing.T) {
	start := words(unit(t, "ExecStart")[0])
	p := program{dir: t.TempDir()}
	p.accept(t, append(slices.Clone(start[1:]), "--help"))
	for key, want := range map[string]string{
		"Type": "notify", "ExecReload": "/bin/kill -HUP $MAINPID", "Restart": "on-failure",
		"RestartPreventExitStatus": "2 5", "TimeoutStopSec": "15s", "WatchdogSec": "2min",
		"LoadCredential": "token:/etc/reportferry/token", "StateDirectory": "reportferry", "ProtectSystem": "strict",
		"DynamicUser": "yes",
	} {
		if got := unit(t, key); !slices.Equal(got, []string{want}) {
			t.Errorf("%s is %q, want %s", key, got, want)
		}
	}
	// Relative paths must not be of the config's folder, which the service can't write to.
	if root := "REPORTFERRY_ROOT=/var/lib/" + unit(t, "StateDirectory")[0]; !slices.Contains(unit(t, "Environment"),
		root) {
		t.Errorf("the service's variables are %q, and lack %s", unit(t, "Environment"), root)
	}
	text, page := read(t, "systemd/reportferry.service"), read(t, "README.md")
	if !strings.Contains(text, "${file:/run/credentials/reportferry.service/token}") ||
		!strings.Contains(page, "token: ${file:/run/credentials/reportferry.service/token}") {
		t.Error("the service or its page doesn't say where the token is")
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd-analyze isn't installed, so systemd itself wasn't asked")
		return
	}
	path, err := binary()
	check(t, err)
	file := filepath.Join(t.TempDir(), "reportferry.service")
	check(t, os.WriteFile(file, []byte(strings.Replace(text, start[0], path, 1)), 0o600))
	if out, err := exec.CommandContext(t.Context(), analyze, "verify", file).CombinedOutput(); err != nil ||
		len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v %s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), analyze, "security", "--offline=yes", "--threshold=15",
		"--no-pager", file).CombinedOutput(); err != nil {
		t.Errorf("more than 1.5 of 10 is left open: %v %s", err, out)
	}
}

// A compose is what Compose reads of a file; a key that isn't here is an error
// (https://github.com/compose-spec/compose-spec).
type compose struct {
	Services map[string]struct {
		Image   string   `json:"image"`
		Build   string   `json:"build"`
		Command []string `json:"command"`
		Restart string   `json:"restart"`
		Grace   string   `json:"stop_grace_period"`
		Ports   []string `json:"ports"`
		Health  struct {
			Test     []string `json:"test"`
			Interval string   `json:"interval"`
			Timeout  string   `json:"timeout"`
			Start    string   `json:"start_period"`
		} `json:"healthcheck"`
		Volumes   []string          `json:"volumes"`
		Variables map[string]string `json:"environment"`
		Dir       string            `json:"working_dir"`
		ReadOnly  bool              `json:"read_only"`
		Drop      []string          `json:"cap_drop"`
		Options   []string          `json:"security_opt"`
		Memory    string            `json:"mem_limit"`
	} `json:"services"`
}

// The container serves by its command, is found well by its own check, takes another config, and
// isn't well when it is gone.
func TestCompose(t *testing.T) {
	s := strict[compose](t, []byte(read(t, "compose.yml"))).Services["reportferry"]
	if !s.ReadOnly || !slices.Equal(s.Drop, []string{"ALL"}) ||
		!slices.Equal(s.Options, []string{"no-new-privileges:true"}) || !strings.HasPrefix(s.Ports[0], "127.0.0.1:") {
		t.Errorf("the container may more than it needs: %+v", s)
	}
	if s.Health.Test[0] != "CMD" || s.Health.Test[1] != "/reportferry" ||
		!strings.Contains(read(t, "../Dockerfile"), `ENTRYPOINT ["/reportferry"]`) {
		t.Errorf("the check is %q", s.Health.Test)
	}
	if grace, err := time.ParseDuration(s.Grace); err != nil || grace < 12*time.Second {
		t.Errorf("it is killed after %s", s.Grace)
	}
	if !slices.ContainsFunc(s.Volumes, func(v string) bool {
		return strings.HasSuffix(v,
			":"+filepath.Dir(configPath)+":ro")
	}) {
		t.Errorf("%s isn't mounted: %q", filepath.Dir(configPath), s.Volumes)
	}
	// Relative paths must not be of the config's folder, which can't be written.
	if root := s.Variables["REPORTFERRY_ROOT"]; root == "" || !slices.ContainsFunc(s.Volumes,
		func(v string) bool { return strings.HasSuffix(v, ":"+root) }) {
		t.Errorf("relative paths are relative to %q, and mounted are %q", root, s.Volumes)
	}

	// As the container has it, with a folder of this machine for /etc/reportferry and a free port.
	dir := t.TempDir()
	service := httptest.NewServer(account(t, 7, 2, 0))
	t.Cleanup(service.Close)
	config := strings.Replace(here(t, dir, service.URL), "${ADJUST_TOKEN}", "${file:"+dir+"/token}", 1)
	check(t, os.WriteFile(filepath.Join(dir, "config.yml"), []byte(config), 0o600))
	check(t, os.WriteFile(filepath.Join(dir, "token"), []byte("made-up"), 0o600))
	check(t, os.WriteFile(filepath.Join(dir, "console"), []byte("0123456789abcdef0123456789abcdef\n"), 0o600))
	free, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	_, port, _ := net.SplitHostPort(free.Addr().String())
	check(t, free.Close())
	placed := func(args []string) (out []string) {
		for _, a := range args {
			out = append(out, strings.NewReplacer("$$", "$", filepath.Dir(configPath), dir, "0.0.0.0:8081",
				"127.0.0.1:"+port).Replace(a))
		}
		return out
	}
	p := program{dir: dir, env: []string{"REPORTFERRY_CONFIG=" + filepath.Join(dir, "config.yml"),
		"REPORTFERRY_LOG_FORMAT=json"}}
	probe := func(code int) string {
		t.Helper()
		cmd := p.command(t, placed(s.Health.Test[2:])...)
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("the check ends with %d, want %d: %s", got, code, out)
		}
		return string(out)
	}
	probe(1)
	cmd := p.command(t, placed(s.Command)...)
	log := filepath.Join(dir, "log")
	file, err := os.Create(log)
	check(t, err)
	cmd.Stdout, cmd.Stderr = file, file
	check(t, cmd.Start())
	until := func(text string) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); !strings.Contains(read(t, log),
			text); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("it never says %q: %s", text, read(t, log))
			}
		}
	}
	until("serving at ")
	if out := probe(0); !strings.Contains(out, `"status":"ready"`) {
		t.Errorf("the check says %s", out)
	}
	check(t, os.WriteFile(filepath.Join(dir, "config.yml"),
		[]byte(strings.ReplaceAll(config, "networks_weekly", "networks")), 0o600))
	check(t, cmd.Process.Signal(syscall.SIGHUP))
	until(`"new":"networks","gone":"networks_weekly"`)
	check(t, os.WriteFile(filepath.Join(dir, "config.yml"),
		[]byte(strings.Replace(config, "kind: report", "kind: rport", 1)), 0o600))
	check(t, cmd.Process.Signal(syscall.SIGHUP))
	until("the config was refused")
	if out := probe(0); strings.Contains(out, "rport") { // it has no token, and the config may name what is secret
		t.Errorf("the check says %s", out)
	}
	check(t, cmd.Process.Signal(syscall.SIGTERM))
	check(t, cmd.Wait())
	probe(1)
	for line := range strings.Lines(read(t, log)) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Errorf("the log has a line that is no JSON: %s", line)
		}
		if object["message"] != "the config was refused, and the one before stays" {
			continue
		}
		if why, _ := object["error"].(string); object["reason"] != "config" ||
			!regexp.MustCompile(`config.yml:\d+:\d+: kind: unknown value`).MatchString(why) {
			t.Errorf("a refused config is logged as %s", line)
		}
	}
}
