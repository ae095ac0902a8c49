package transport

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// These are the limits for the difference between this machine's clock and another's. Dates of
// reports are computed from this clock. Leases are safe even if it is wrong.
const (
	ClockWarns   = 5 * time.Minute // Kerberos and AWS's signatures allow as much, or three times that
	ClockRefuses = time.Hour       // a larger difference may select the wrong snapshot or day
)

// ErrClock means that this machine's clock is far from another's, so that nothing that depends on
// today's date can be right.
var ErrClock = errors.New("this machine's clock is wrong, or the other one; set it, for example by NTP")

// CheckClock compares this machine's clock with another's, which whose names. It returns an error
// when they are far apart, a warning when they are somewhat apart, and an empty warning otherwise.
func CheckClock(whose string, theirs, ours time.Time) (warning string, err error) {
	apart, how := theirs.Sub(ours), "behind"
	if apart < 0 {
		apart, how = -apart, "ahead"
	}
	text := fmt.Sprintf("%s is %s, and this machine's %s, %v %s", whose, theirs.UTC().Format(time.RFC3339),
		ours.UTC().Format(time.RFC3339),
		apart.Round(time.Second), how)
	switch {
	case apart > ClockRefuses:
		return "", fmt.Errorf("the clock of %s: %w", text, ErrClock)
	case apart > ClockWarns:
		return "the clock of " + text, nil
	}
	return "", nil
}

// A clock holds what the dates of answers show about this machine's clock.
type clock struct {
	mu         sync.Mutex
	warning    string    // by the last answer; empty if the clock isn't off
	lastWarned time.Time // when a warning was last logged
}

// warnAgain is the time after which a long-running process warns again that its clock is off.
const warnAgain = time.Hour

// ClockWarning returns the warning that this machine's clock is somewhat off, by the last answer;
// empty if it isn't.
func (c *Client) ClockWarning() string {
	c.clock.mu.Lock()
	defer c.clock.mu.Unlock()
	return c.clock.warning
}

// checkDate compares an answer's Date with the time between sending the request and receiving the
// answer's header. taken means that the answer confirms a record; a wrong clock is only a warning
// then, because the record is taken already.
func (c *Client) checkDate(h http.Header, sent time.Time, taken bool) error {
	theirs, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return nil // an answer may lack a readable Date (RFC 9110, section 6.6.1)
	}
	if age, err := strconv.Atoi(h.Get("Age")); err == nil && age > 0 {
		theirs = theirs.Add(time.Duration(age) * time.Second)
	}
	// Round(0) drops the monotonic time, which stands still while a machine sleeps.
	sent, received := sent.Round(0), time.Now().Round(0)
	ours := received
	if theirs.Before(received) {
		ours = sent
		if theirs.After(sent) {
			ours = theirs
		}
	}
	warning, err := CheckClock("the service", theirs, ours)
	if err != nil && taken {
		warning, err = err.Error(), nil
	}
	c.clock.mu.Lock()
	defer c.clock.mu.Unlock()
	c.clock.warning = warning
	if warning != "" && received.Sub(c.clock.lastWarned) > warnAgain {
		c.clock.lastWarned = received
		c.log.Warn(warning)
	}
	return err
}
