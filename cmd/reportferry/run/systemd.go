package run

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"
)

// tellSystemd sends lines to systemd if it started the process and asked for notifications. A
// failure is logged and stops nothing. The call blocks while systemd's queue is full.
func tellSystemd(log *slog.Logger, lines ...string) {
	if _, err := systemd.SdNotify(false, strings.Join(lines, "\n")); err != nil {
		log.Warn("the service manager could not be told", "state", lines[0], "error", err)
	}
}

// tellStatus sends a status line for people to systemd, if it differs from the last one.
func (d *daemon) tellStatus(text string) {
	if d.lastStatus != text {
		d.lastStatus = text
		tellSystemd(d.log, "STATUS="+text)
	}
}

// watchdogInterval returns how often to feed systemd's watchdog; zero means that there is none.
func watchdogInterval() (time.Duration, error) {
	limit, err := systemd.SdWatchdogEnabled(false)
	if err != nil {
		return 0, fmt.Errorf("the environment variable WATCHDOG_USEC, as systemd sets it: %w", err)
	}
	return limit / 2, nil
}

// feedWatchdog feeds the watchdog as long as the scheduler looks at the clock. It also does so
// while a ledger or a service can't be reached, because a restart wouldn't help.
func (d *daemon) feedWatchdog(ctx context.Context) {
	if d.watchdogPeriod == 0 {
		return
	}
	every := time.NewTicker(d.watchdogPeriod)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-every.C:
			if err := d.checkScheduler(now); err != nil {
				d.log.Error("the watchdog isn't fed, so that the service manager restarts this process", "error", err)
				continue
			}
			tellSystemd(d.log, systemd.SdNotifyWatchdog)
		}
	}
}
