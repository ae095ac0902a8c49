package deploy

import (
	"bufio"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
)

// aborted starts the program, aborts it as the watchdog of systemd does, and gives the signal that
// ended it, or else its exit code.
func aborted(t *testing.T, attr *syscall.SysProcAttr) (syscall.Signal, int) {
	t.Helper()
	cmd := program{dir: t.TempDir()}.command(t, "emulator", "--addr", "127.0.0.1:0")
	cmd.SysProcAttr = attr
	said, err := cmd.StderrPipe()
	check(t, err)
	check(t, cmd.Start())
	lines := bufio.NewScanner(said)
	if !lines.Scan() || !strings.Contains(lines.Text(), "serving on") {
		t.Fatalf("it says %q", lines.Text())
	}
	check(t, cmd.Process.Signal(syscall.SIGABRT))
	stacks := 0
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "goroutine ") {
			stacks++
		}
	}
	_ = cmd.Wait() // it is no success
	if stacks < 3 {
		t.Errorf("it leaves %d stacks", stacks)
	}
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return status.Signal(), 0
	}
	return 0, status.ExitStatus()
}

// After a crash each platform tries again: none of them takes how the program dies then for a
// config error.
func TestACrashIsTriedAgain(t *testing.T) {
	signal, code := aborted(t, nil)
	if signal != syscall.SIGABRT {
		t.Fatalf("a crash ends with signal %d, code %d", signal, code)
	}
	asShell := strconv.Itoa(128 + int(signal)) // as containers have it too
	// https://docs.python.org/3/library/subprocess.html#subprocess.CompletedProcess.returncode
	asPython := strconv.Itoa(-int(signal))

	// A first process that can't be told to die by its own signal ends as Go has it, with 2.
	first := asShell
	if _, code, ok := abortedFirst(t); !ok || code != 0 {
		first = "2"
	}

	never := map[string][]string{} // by file: after which codes it doesn't try again
	never["systemd"] = words(unit(t, "RestartPreventExitStatus")[0])
	if restart := unit(t, "Restart")[0]; restart != "on-failure" || slices.Contains(never["systemd"], asShell) ||
		slices.Contains(never["systemd"], "SIGABRT") {
		t.Errorf("systemd restarts %s, except after %q", restart, never["systemd"])
	}
	for name, spec := range map[string]batch.JobSpec{
		"cronjob.yaml":  strict[batch.CronJob](t, []byte(read(t, "kubernetes/cronjob.yaml"))).Spec.JobTemplate.Spec,
		"backfill.yaml": strict[batch.Job](t, []byte(read(t, "kubernetes/backfill.yaml"))).Spec,
	} {
		crash := first
		// The first process is another.
		if shared := spec.Template.Spec.ShareProcessNamespace; shared != nil && *shared {
			crash = asShell
		}
		for _, rule := range spec.PodFailurePolicy.Rules {
			for _, n := range rule.OnExitCodes.Values {
				never[name] = append(never[name], strconv.Itoa(int(n)))
			}
		}
		if slices.Contains(never[name], crash) || spec.Template.Spec.RestartPolicy != core.RestartPolicyNever {
			t.Errorf("%s never tries again after %q, and a crash ends with %s", name, never[name], crash)
		}
	}
	for name, pattern := range map[string]string{
		"airflow/reportferry_dags.py":    `case ([\d |]+):.*the config or the credentials`,
		"dagster/reportferry_dagster.py": `code not in \(([\d, ]+)\)`,
	} {
		m := regexp.MustCompile(pattern).FindStringSubmatch(read(t, name))
		if m == nil {
			t.Fatalf("%s has no %s", name, pattern)
		}
		never[name] = regexp.MustCompile(`\d+`).FindAllString(m[1], -1)
		if slices.Contains(never[name], asPython) || slices.Contains(never[name], asShell) {
			t.Errorf("%s never tries again after %q, and a crash is %s", name, never[name], asPython)
		}
	}
	for name, codes := range never {
		if !slices.Equal(codes, []string{"2", "5"}) {
			t.Errorf("%s never tries again after %q", name, codes)
		}
	}
	// Before the program has begun, too, as where it may have no more threads.
	for _, file := range []string{"systemd/reportferry.service", "../Dockerfile", "airflow/reportferry_dags.py",
		"dagster/reportferry_dagster.py"} {
		if !regexp.MustCompile(`GOTRACEBACK("?[=:] ?"?)crash`).MatchString(read(t, file)) {
			t.Errorf("%s doesn't set GOTRACEBACK", file)
		}
	}
}

// abortedFirst is aborted as the first process of a PID namespace. Where none may be made, ok is
// false.
func abortedFirst(t *testing.T) (signal syscall.Signal, code int, ok bool) {
	t.Helper()
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	probe := exec.CommandContext(t.Context(), "true")
	probe.SysProcAttr = attr
	if probe.Run() != nil {
		return 0, 0, false
	}
	signal, code = aborted(t, attr)
	return signal, code, true
}
