package serve

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"
)

// notify sends lines to systemd, when it started the process and wants to hear how it does. That
// they can't be sent is logged, and keeps nobody from working; whoever tells waits while the queue
// of systemd is full.
func notify(log *slog.Logger, lines ...string) {
	if _, err := systemd.SdNotify(false, strings.Join(lines, "\n")); err != nil {
		log.Warn("the service manager could not be told", "state", lines[0], "error", err)
	}
}

// tellStatus tells a line for people, when it is another one.
func (d *daemon) tellStatus(text string) {
	if d.said != text {
		d.said = text
		notify(d.log, "STATUS="+text)
	}
}

// feeding is how often systemd's watchdog is fed; zero: there is none.
func feeding() (time.Duration, error) {
	limit, err := systemd.SdWatchdogEnabled(false)
	if err != nil {
		return 0, fmt.Errorf("the environment variable WATCHDOG_USEC, as systemd sets it: %w", err)
	}
	return limit / 2, nil
}

// watch feeds the watchdog as long as the scheduler looks at the clock. A ledger or a service that
// is away is no reason to starve it, because a restart mends neither.
func (d *daemon) watch(ctx context.Context) {
	if d.pet == 0 {
		return
	}
	every := time.NewTicker(d.pet)
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
			notify(d.log, systemd.SdNotifyWatchdog)
		}
	}
}
