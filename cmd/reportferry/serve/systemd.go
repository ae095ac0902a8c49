package serve

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long the service manager may take to receive a datagram, when it has a queue of them.
const patience = time.Second

// A manager is the service manager that started the process and wants to hear how it does: systemd, by the protocol of sd_notify(3).
// A nil one hears nothing.
type manager struct {
	socket *net.UnixAddr
	pet    time.Duration // how often the watchdog is fed; zero: there is none
	said   string        // the status that it knows
}

// managerOf reads what systemd puts into the environment of a service of type notify.
func managerOf(lookup func(string) (string, bool)) (*manager, error) {
	path, _ := lookup("NOTIFY_SOCKET")
	if path == "" {
		return nil, nil
	}
	m := &manager{socket: &net.UnixAddr{Name: path, Net: "unixgram"}} // package net knows the @ of an abstract one
	limit, _ := lookup("WATCHDOG_USEC")
	if whom, _ := lookup("WATCHDOG_PID"); limit == "" || whom != "" && whom != strconv.Itoa(os.Getpid()) {
		return m, nil
	}
	n, err := strconv.ParseInt(limit, 10, 64)
	if err != nil || n < 2 {
		return nil, fmt.Errorf("the environment variable WATCHDOG_USEC is %q: want a number of microseconds, as systemd sets it", limit)
	}
	m.pet = time.Duration(n) * time.Microsecond / 2
	return m, nil
}

// tell sends lines as one datagram. That it can't be sent is logged, and keeps nobody from working.
func (m *manager) tell(log *slog.Logger, lines ...string) {
	if m == nil {
		return
	}
	conn, err := net.DialUnix("unixgram", nil, m.socket)
	if err == nil {
		defer func() { _ = conn.Close() }() // it has nothing left to say
		if err = conn.SetWriteDeadline(time.Now().Add(patience)); err == nil {
			_, err = conn.Write([]byte(strings.Join(lines, "\n")))
		}
	}
	if err != nil {
		log.Warn("the service manager could not be told", "state", lines[0], "error", err)
	}
}

// reloading is told before READY=1, with the time by which systemd tells this reload from the one before.
func (m *manager) reloading(log *slog.Logger) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		log.Warn("the system has no clock of its own", "error", err)
	}
	m.tell(log, "RELOADING=1", fmt.Sprintf("MONOTONIC_USEC=%d", now.Nano()/1000))
}

// status tells a line for people, when it is another one.
func (m *manager) status(log *slog.Logger, text string) {
	if m == nil || m.said == text {
		return
	}
	m.said = text
	m.tell(log, "STATUS="+text)
}

// watch feeds the watchdog as long as the scheduler looks at the clock. A ledger or a service that is away is no reason to starve it,
// because a restart mends neither.
func (d *daemon) watch(ctx context.Context) {
	if d.manager == nil || d.manager.pet == 0 {
		return
	}
	every := time.NewTicker(d.manager.pet)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-every.C:
			if err := d.hangs(now); err != nil {
				d.log.Error("the watchdog isn't fed, so that the service manager restarts this process", "error", err)
				continue
			}
			d.manager.tell(d.log, "WATCHDOG=1")
		}
	}
}
