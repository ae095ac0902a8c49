package run

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A watchdogSocket is where the watchdog is fed. Its goroutine is none of a bubble's, so that time
// goes on there.
type watchdogSocket struct {
	address    *net.UnixAddr
	fed, marks atomic.Int64
}

func newWatchdogSocket(t *testing.T) *watchdogSocket {
	t.Helper()
	k := &watchdogSocket{address: &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"), Net: "unixgram"}}
	conn, err := net.ListenUnixgram("unixgram", k.address)
	checkServe(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		data := make([]byte, 4096)
		for {
			n, err := conn.Read(data)
			if err != nil {
				return
			}
			switch string(data[:n]) {
			case "WATCHDOG=1":
				k.fed.Add(1)
			case "mark":
				k.marks.Add(1)
			}
		}
	}()
	return k
}

// count is how often it was fed since it was last asked.
func (k *watchdogSocket) count(t *testing.T) int64 {
	t.Helper()
	conn, err := net.DialUnix("unixgram", nil, k.address)
	checkServe(t, err)
	before := k.marks.Load()
	_, err = conn.Write([]byte("mark"))
	checkServe(t, err)
	checkServe(t, conn.Close())
	for k.marks.Load() == before {
		runtime.Gosched()
	}
	return k.fed.Swap(0)
}

// A stuckLog log is one that nobody reads: whoever writes a line about a skipped firing waits.
type stuckLog struct {
	slog.Handler
	free chan struct{}
}

func (h stuckLog) Handle(ctx context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "skipped") {
		<-h.free
	}
	return h.Handler.Handle(ctx, r)
}

// A log that nobody reads stops the scheduler. Then the watchdog isn't fed any more, and /readyz
// says why, until it goes on.
func TestAHungSchedulerStarvesTheWatchdog(t *testing.T) {
	k := newWatchdogSocket(t)
	t.Setenv("NOTIFY_SOCKET", k.address.Name)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(10*365*24*time.Hour + 7*time.Hour)
		s := newServeStage(t, "a 0 8 * * *")
		s.watchdogPeriod = 10 * time.Second
		free := make(chan struct{})
		s.daemon.log = slog.New(stuckLog{s.daemon.log.Handler(), free})
		ctx, stop := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() { defer close(over); s.run(ctx, nil) }()
		s.began("a of 1")
		time.Sleep(59 * time.Minute)
		if n := k.count(t); n < 300 {
			t.Fatalf("in 59 minutes the watchdog was fed %d times", n)
		}
		time.Sleep(2*time.Minute + hungAfter) // at 08:00 the job still runs, which is logged
		k.count(t)
		time.Sleep(10 * time.Minute)
		if n := k.count(t); n != 0 {
			t.Errorf("while the scheduler hung, the watchdog was fed %d times", n)
		}
		status, body := probedServe(s.probes(true), "/readyz")
		if status != 503 || !strings.Contains(body, `"check":"scheduler","ok":false,"since":"2009-12-29T07:59`) ||
			!strings.Contains(body, "hangs") {
			t.Errorf("/readyz: %d %s", status, body)
		}
		close(free)
		time.Sleep(time.Minute)
		if n := k.count(t); n < 4 {
			t.Errorf("after it went on, the watchdog was fed %d times in a minute", n)
		}
		stop()
		<-over
		s.close()
	})
}

// The watchdog of another process isn't fed; a limit that systemd can't have set is refused; and
// nobody who listens is no error.
func TestWhetherSystemdListens(t *testing.T) {
	for _, c := range []struct {
		limit, whom string
		pet         time.Duration
		bad         bool
	}{
		{"", "", 0, false}, {"30000000", "", 15 * time.Second, false}, {"30000000", "1", 0, false},
		{"soon", "", 0, true}, {"0", "", 0, true},
	} {
		t.Setenv("WATCHDOG_USEC", c.limit)
		t.Setenv("WATCHDOG_PID", c.whom)
		if pet, err := watchdogInterval(); (err != nil) != c.bad || pet != c.pet {
			t.Errorf("%+v: %s %v", c, pet, err)
		}
	}
	for socket, says := range map[string]bool{"": false, filepath.Join(t.TempDir(), "nobody"): true} {
		var log serveWrites
		t.Setenv("NOTIFY_SOCKET", socket)
		if tellSystemd(slog.New(slog.NewTextHandler(&log, nil)), "READY=1"); strings.Contains(log.b.String(),
			"could not be told") != says {
			t.Errorf("at %q the log is %q", socket, log.b.String())
		}
	}
}

// A status that systemd knows isn't told again.
func TestTheStatusIsToldWhenItChanges(t *testing.T) {
	at := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: at, Net: "unixgram"})
	checkServe(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	t.Setenv("NOTIFY_SOCKET", at)
	d := &daemon{log: slog.New(slog.DiscardHandler)}
	for _, status := range []string{"1 job", "1 job", "2 jobs"} {
		d.tellStatus(status)
	}
	data := make([]byte, 100)
	for _, want := range []string{"STATUS=1 job", "STATUS=2 jobs"} {
		if n, err := conn.Read(data); err != nil || string(data[:n]) != want {
			t.Errorf("told %q, want %q: %v", data[:n], want, err)
		}
	}
}
