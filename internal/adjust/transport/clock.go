package transport

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// How far this machine's clock may be from another's. Dates of reports are made from it, and leases
// are safe without it.
const (
	ClockWarns   = 5 * time.Minute // what Kerberos and AWS's signatures allow is as much or three times that
	ClockRefuses = time.Hour       // a snapshot or a day may then be the wrong one
)

// ErrClock means that this machine's clock is far from another's. Nothing that depends on today's
// date can be right.
var ErrClock = errors.New("this machine's clock is wrong, or the other one; set it, for example by NTP")

// CheckClock compares this machine's clock with another's, whose is said: an error when they are
// far apart, and a warning when they are somewhat apart, which is empty otherwise.
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

// A clock is what the answers' dates say of this machine's clock.
type clock struct {
	mu      sync.Mutex
	warning string
	warned  time.Time
}

// warnAgain is the time after which a process that stays says again that its clock is off.
const warnAgain = time.Hour

// ClockWarning says that this machine's clock is somewhat off, by the last answer; empty: it isn't.
func (c *Client) ClockWarning() string {
	c.clock.mu.Lock()
	defer c.clock.mu.Unlock()
	return c.clock.warning
}

// checkDate compares the Date of an answer with the time between the request and the answer's
// header. taken says that the answer was to a record, which is taken by then: a wrong clock is only
// a warning.
func (c *Client) checkDate(h http.Header, sent time.Time, taken bool) error {
	theirs, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return nil // none that can be read, which is allowed (RFC 9110, section 6.6.1)
	}
	if age, err := strconv.Atoi(h.Get("Age")); err == nil && age > 0 {
		theirs = theirs.Add(time.Duration(age) * time.Second)
	}
	// By the clocks on the wall: the monotonic one stands still while a machine sleeps.
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
	if warning != "" && received.Sub(c.clock.warned) > warnAgain {
		c.clock.warned = received
		c.log.Warn(warning)
	}
	return err
}
