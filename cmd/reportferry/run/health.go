package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/jobs"
)

const (
	// ledgerTime is how long the ledger may take to answer.
	ledgerTime = 3 * time.Second
	// reuseTime is how long the ledger's last answer is reused, so that callers without a token
	// can't cause requests to the ledger as often as they like.
	reuseTime = 5 * time.Second
)

// health is what GET /healthz answers, as JSON.
type health struct {
	// Status is "failing" if the last run of any job ended with an exit code other than 0, or else
	// "ok".
	Status string      `json:"status"`
	Jobs   []jobHealth `json:"jobs,omitempty"` // left out for callers that may not see the names
}

// A jobHealth says what a job did last and when its schedule fires next.
type jobHealth struct {
	Job     string        `json:"job"`
	Running bool          `json:"running"`
	Gone    bool          `json:"gone,omitempty"` // removed from the config while it runs; this run is its last
	Last    *scheduledRun `json:"last,omitempty"`
	Next    *time.Time    `json:"next,omitempty"`
}

// readiness is what GET /readyz answers, as JSON.
type readiness struct {
	Status string      `json:"status"` // "ready" or "not ready"
	Checks []condition `json:"checks"`
}

// A condition is one requirement for being ready.
type condition struct {
	Check   string    `json:"check"` // scheduler, ledger, config or running
	OK      bool      `json:"ok"`
	Since   time.Time `json:"since"`
	Error   string    `json:"error,omitempty"`
	Refused string    `json:"refused,omitempty"` // why the newest config was refused; an older one is in use then
}

// health reports on all jobs. It is answered with 200 even when a job fails, because probes would
// restart the daemon after an error, and that wouldn't fix the job.
func (d *daemon) health() health {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := health{Status: "ok"}
	for _, j := range d.jobs {
		one := jobHealth{Job: j.name, Running: j.running, Gone: j.schedule == nil, Last: j.last}
		if !one.Gone && !j.next.IsZero() {
			next := j.next
			one.Next = &next
		}
		if j.last != nil && j.last.Exit != jobs.ExitDone {
			h.Status = "failing"
		}
		h.Jobs = append(h.Jobs, one)
	}
	return h
}

// ready reports whether the daemon has what a run needs. A refused config is shown but doesn't
// count, because the one before it still works. Writing isn't tried: each run writes, and /healthz
// reports runs that fail.
func (d *daemon) ready(ctx context.Context) (r readiness) {
	now := time.Now()
	add := func(c condition, err error) {
		if c.OK = err == nil; err != nil {
			c.Error = err.Error()
		}
		c.Since = c.Since.UTC().Round(time.Millisecond)
		r.Checks = append(r.Checks, c)
	}
	defer func() {
		r.Status = "ready"
		for _, c := range r.Checks {
			if !c.OK {
				r.Status = "not ready"
			}
		}
	}()
	if at := d.stopping.Load(); at != nil {
		add(condition{Check: "running", Since: *at}, errors.New("it stops, and begins no run any more"))
		return r
	}
	scheduler, hangs := condition{Check: "scheduler", Since: d.started}, d.checkScheduler(now)
	if at := d.lastTick.Load(); hangs != nil && at != nil {
		scheduler.Since = *at
	}
	add(scheduler, hangs)
	if hangs != nil {
		return r // a scheduler that hangs may hold the lock that the other checks take
	}
	d.mu.Lock()
	g, config := d.current, condition{Check: "config", Since: d.reading.at}
	if d.reading.refused != nil {
		config.Since, config.Refused = d.reading.since, d.reading.refused.Error()
	}
	g.hold()
	d.mu.Unlock()
	defer g.release(d.log)
	add(config, nil)
	at, err := d.ledger.check(g, func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ledgerTime)
		defer cancel()
		return g.engine.Ledger.Reach(ctx)
	})
	add(condition{Check: "ledger", Since: at}, err)
	return r
}

// checkScheduler returns an error when the scheduler hasn't looked at the clock for too long.
func (d *daemon) checkScheduler(now time.Time) error {
	at := d.lastTick.Load()
	switch {
	case at == nil:
		return errors.New("the scheduler hasn't begun yet")
	case now.Sub(*at) > hungAfter:
		return fmt.Errorf("the scheduler hangs: it last looked at the clock %s ago", now.Sub(*at).Round(time.Second))
	}
	return nil
}

// A cachedCheck caches the result of a check. The check runs when it is asked for, once at a time.
type cachedCheck struct {
	mu         sync.Mutex
	generation *generation // that was checked
	at         time.Time   // of the last check
	since      time.Time   // when the result last changed between success and failure
	err        error       // the result
}

// check returns the last result if it is fresh, and otherwise runs the test. since is when the
// result last changed between success and failure.
func (w *cachedCheck) check(g *generation, test func() error) (since time.Time, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); w.generation != g || now.Sub(w.at) > reuseTime {
		err = test()
		if w.generation != g || (err == nil) != (w.err == nil) {
			w.since = now
		}
		w.generation, w.at, w.err = g, time.Now(), err
	}
	return w.since, w.err
}

// probes returns the handler of /healthz and /readyz. Unless whole is set, its answers leave out
// the names of jobs, and errors.
func (d *daemon) probes(whole bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		h := d.health()
		if !whole {
			h.Jobs = nil
		}
		answerJSON(w, http.StatusOK, h)
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		now := d.ready(r.Context())
		status := http.StatusOK
		if now.Status != "ready" {
			status = http.StatusServiceUnavailable
		}
		for i := range now.Checks {
			if !whole {
				now.Checks[i].Error, now.Checks[i].Refused = "", ""
			}
		}
		answerJSON(w, status, now)
	})
	return mux
}

// answerJSON answers a request with a status and a JSON object.
func answerJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the caller may have gone away
}

// status returns one line about what runs and what is next. The caller holds the lock.
func (d *daemon) status() string {
	var running []string
	var next *servedJob
	known := 0
	for _, j := range d.jobs {
		if j.running {
			running = append(running, j.name)
		}
		if j.schedule == nil {
			continue
		}
		known++
		if !j.next.IsZero() && (next == nil || j.next.Before(next.next)) {
			next = j
		}
	}
	status := text.Plural(known, "job")
	switch {
	case len(running) > 3:
		status += "; running: " + text.Plural(len(running), "job")
	case len(running) > 0:
		status += "; running: " + strings.Join(running, ", ")
	}
	if next != nil {
		status += fmt.Sprintf("; next: %s at %s", next.name, next.next.Format("2006-01-02 15:04 MST"))
	}
	if err := d.reading.refused; err != nil {
		status += "; the config was refused, and the one before stays: " + text.FirstLine(err.Error())
	}
	return status
}
