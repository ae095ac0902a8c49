// Package notify tells a watcher outside that a run has begun, and how it ended. Without it, a night in which nothing began would be
// noticed by whoever misses its numbers.
package notify

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// beatTime is how long a watcher may take. The run waits for it.
const beatTime = 3 * time.Second

// A Heartbeat is a watcher of runs, by the addresses of healthchecks.io, which others understand too
// (https://healthchecks.io/docs/http_api/). A nil one is none.
type Heartbeat struct {
	address *url.URL
	quiet   bool // only failures are told
	http    *Poster
}

// NewHeartbeat makes a watcher of its address. quiet has it told of failures alone: of the tasks of one execution one tells the rest.
func NewHeartbeat(address string, quiet bool) (*Heartbeat, error) {
	at, err := url.Parse(address)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, errors.New("heartbeat: what is referred to isn't an address such as https://hc-ping.com/UUID") // it may be a secret all the same
	}
	if err := encrypted(at); err != nil {
		return nil, fmt.Errorf("heartbeat: %w", err)
	}
	return &Heartbeat{at, quiet, NewPoster()}, nil
}

// Start tells that a run begins. An error doesn't say where the watcher is.
func (h *Heartbeat) Start(ctx context.Context) error {
	if h == nil || h.quiet {
		return nil
	}
	return h.ask(ctx, "start")
}

// End tells with which exit code a run ended; 0 is a success. An error doesn't say where the watcher is.
func (h *Heartbeat) End(ctx context.Context, code int) error {
	switch {
	case h == nil || h.quiet && code == 0:
		return nil
	case code == 0:
		return h.ask(ctx, "")
	}
	return h.ask(ctx, strconv.Itoa(code))
}

// ask asks for an address, also when ctx is over.
func (h *Heartbeat) ask(ctx context.Context, what string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatTime)
	defer cancel()
	at := h.address
	if what != "" {
		at = at.JoinPath(what)
	}
	return h.http.Post(ctx, at.String(), "", nil)
}
