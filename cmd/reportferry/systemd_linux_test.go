package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A listener hears what a service tells systemd.
type listener struct {
	t    *testing.T
	conn *net.UnixConn
}

func listen(t *testing.T, name string) *listener {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	check(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &listener{t, conn}
}

// next is the next datagram that isn't food for the watchdog; those before it are counted.
func (l *listener) next(timeout time.Duration) (text string, fed int) {
	l.t.Helper()
	check(l.t, l.conn.SetReadDeadline(time.Now().Add(timeout)))
	data := make([]byte, 4096)
	for {
		n, err := l.conn.Read(data)
		if err != nil {
			return "", fed
		}
		if text = string(data[:n]); text != "WATCHDOG=1" {
			return text, fed
		}
		fed++
	}
}

// until wants these datagrams in this order, with any status between them, and gives the statuses.
// A state may end with *.
func (l *listener) until(wants ...string) (statuses []string) {
	l.t.Helper()
	for _, want := range wants {
		for {
			text, _ := l.next(30 * time.Second)
			if status, is := strings.CutPrefix(text, "STATUS="); is && want != text {
				statuses = append(statuses, status)
				continue
			}
			if head, open := strings.CutSuffix(want, "*"); text != want && (!open || !strings.HasPrefix(text, head)) {
				l.t.Fatalf("systemd is told %q, want %q", text, want)
			}
			break
		}
	}
	return statuses
}

// The program tells systemd when it is ready, reloads and stops, in this order, and feeds the
// watchdog; by a socket in the file system and by one of abstract name.
func TestServeTellsSystemd(t *testing.T) {
	for _, socket := range []string{filepath.Join(t.TempDir(), "notify"),
		fmt.Sprintf("@reportferry-test-%d", os.Getpid())} {
		t.Run(socket[:1], func(t *testing.T) {
			t.Parallel()
			dir := served(t)
			file := filepath.Join(dir, "c.yml")
			p := &place{t: t, dir: dir, env: []string{"NOTIFY_SOCKET=" + socket, "WATCHDOG_USEC=400000"}}
			l := listen(t, socket)
			cmd, out := p.command(t.Context(), "serve", "--config", "c.yml", "--listen", "127.0.0.1:0")
			check(t, cmd.Start())
			l.until("READY=1")
			good, err := os.ReadFile(file)
			check(t, err)
			for _, c := range []struct{ text, says string }{
				{strings.Replace(string(good), "name: daily", "name: nightly", 1),
					`^1 job; (running: .*; )?next: nightly at \d{4}-\d\d-\d\d 06:00 UTC$`},
				{strings.Replace(string(good), "kind: report", "kind: rport", 1),
					`^1 job; .*the config was refused, and the one before stays: c.yml:7:11: kind: unknown value "rport"`},
			} {
				check(t, os.WriteFile(file, []byte(c.text), 0o600))
				check(t, cmd.Process.Signal(syscall.SIGHUP))
				l.until("RELOADING=1\nMONOTONIC_USEC=*", "READY=1")
				said := ""
				for deadline := time.Now().Add(20 * time.Second); !regexp.MustCompile(c.says).MatchString(said) &&
					time.Now().Before(deadline); {
					text, _ := l.next(20 * time.Second)
					said = strings.TrimPrefix(text, "STATUS=")
				}
				if !regexp.MustCompile(c.says).MatchString(said) {
					t.Errorf("the status is %q, want %s", said, c.says)
				}
			}
			fed := 0
			for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
				_, n := l.next(time.Until(end))
				fed += n
			}
			if fed < 3 || fed > 11 {
				t.Errorf("the watchdog was fed %d times in 2 s, want 10", fed)
			}
			check(t, cmd.Process.Signal(syscall.SIGTERM))
			l.until("STOPPING=1")
			if err := cmd.Wait(); err != nil ||
				!regexp.MustCompile(
					`(?m)^\d\d:\d\d:\d\d the config was read again; jobs: 1; new: nightly; gone: daily$`).MatchString(
					out.String()) {
				t.Errorf("it ends with %v: %s", err, out)
			}
		})
	}
}

// A process that isn't systemd's is told apart from it: nothing is sent, and a watchdog of another
// process isn't fed. SIGHUP stops all commands but serve.
func TestOthersAreStoppedByAHangup(t *testing.T) {
	t.Parallel()
	s := startService(t, "--apps", "1", "--days", "30", "--latency", "20s")
	p := newPlace(t, s, 5, 1, living)
	socket := filepath.Join(p.dir, "notify")
	p.env = []string{"NOTIFY_SOCKET=" + socket, "WATCHDOG_USEC=200000", "WATCHDOG_PID=1"}
	l := listen(t, socket)
	cmd, out := p.command(t.Context(), "run")
	check(t, cmd.Start())
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if runs, err := filepath.Glob(filepath.Join(p.dir, "ledger/runs/*.json")); err == nil && len(runs) > 0 {
			break
		}
	}
	check(t, cmd.Process.Signal(syscall.SIGHUP))
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("it ends with %v: %s", err, out)
	}
	if text, fed := l.next(100 * time.Millisecond); text != "" || fed > 0 {
		t.Errorf("systemd is told %q by a run", text)
	}
}
