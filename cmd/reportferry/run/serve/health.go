package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/text/human"
	"github.com/reportferry/reportferry/jobs"
)

const (
	// reach is how long the ledger may take to answer.
	reach = 3 * time.Second
	// fresh is how long its answer holds, so that those who ask without a token can't have it asked
	// as often as they like.
	fresh = 5 * time.Second
)

// health is what GET /healthz answers, as JSON.
type health struct {
	// "failing" when the last look of any job ended with another code than 0, else "ok".
	Status string      `json:"status"`
	Jobs   []jobHealth `json:"jobs,omitempty"` // for those who may know their names
}

// A jobHealth says what a job did last and when its schedule fires next.
type jobHealth struct {
	Job     string        `json:"job"`
	Running bool          `json:"running"`
	Gone    bool          `json:"gone,omitempty"` // from the config; the run that goes on is its last
	Last    *scheduledRun `json:"last,omitempty"`
	Next    *time.Time    `json:"next,omitempty"`
}

// readiness is what GET /readyz answers, as JSON.
type readiness struct {
	Status string      `json:"status"` // "ready" or "not ready"
	Checks []condition `json:"checks"`
}

// A condition is one thing that it takes to be ready.
type condition struct {
	Check   string    `json:"check"` // scheduler, ledger, config or running
	OK      bool      `json:"ok"`
	Since   time.Time `json:"since"`
	Error   string    `json:"error,omitempty"`
	Refused string    `json:"refused,omitempty"` // why the newest config isn't the one that holds
}

// health reports on all jobs. The answer is 200 even when a job fails: restarting the daemon, which
// is what probes do after an error, wouldn't mend it.
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

// ready reports on what a run needs. A config that was refused is shown, and doesn't count, because
// the one before does its work. Writing isn't tried: each run does, and /healthz says when one
// fails.
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
	scheduler, hangs := condition{Check: "scheduler", Since: d.started}, d.hangs(now)
	if at := d.beat.Load(); hangs != nil && at != nil {
		scheduler.Since = *at
	}
	add(scheduler, hangs)
	if hangs != nil {
		return r // it may hold the lock that the rest takes
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
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reach)
		defer cancel()
		return g.engine.Ledger.Reach(ctx)
	})
	add(condition{Check: "ledger", Since: at}, err)
	return r
}

// hangs tells that the scheduler hasn't looked at the clock for too long.
func (d *daemon) hangs(now time.Time) error {
	at := d.beat.Load()
	switch {
	case at == nil:
		return errors.New("the scheduler hasn't begun yet")
	case now.Sub(*at) > hung:
		return fmt.Errorf("the scheduler hangs: it last looked at the clock %s ago", now.Sub(*at).Round(time.Second))
	}
	return nil
}

// A watched is something that is looked at when somebody asks, and by one at a time.
type watched struct {
	mu        sync.Mutex
	of        *generation
	at, since time.Time
	err       error
}

// check gives what was found lately, or finds out; since is when it became so.
func (w *watched) check(of *generation, find func() error) (since time.Time, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); w.of != of || now.Sub(w.at) > fresh {
		err = find()
		if w.of != of || (err == nil) != (w.err == nil) {
			w.since = now
		}
		w.of, w.at, w.err = of, time.Now(), err
	}
	return w.since, w.err
}

// probes answer /healthz and /readyz, with all that is known or without names and errors.
func (d *daemon) probes(whole bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		h := d.health()
		if !whole {
			h.Jobs = nil
		}
		answer(w, http.StatusOK, h)
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
		answer(w, status, now)
	})
	return mux
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the caller may have gone away
}

// status is a line on what goes on, with the lock held.
func (d *daemon) status() string {
	var running []string
	var next *job
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
	text := human.Plural(known, "job")
	switch {
	case len(running) > 3:
		text += "; running: " + human.Plural(len(running), "job")
	case len(running) > 0:
		text += "; running: " + strings.Join(running, ", ")
	}
	if next != nil {
		text += fmt.Sprintf("; next: %s at %s", next.name, next.next.Format("2006-01-02 15:04 MST"))
	}
	if err := d.reading.refused; err != nil {
		text += "; the config was refused, and the one before stays: " + human.FirstLine(err.Error())
	}
	return text
}
