// Package notify tells a watcher outside that a run has begun, and how it ended. Without it, a night in which nothing began would be
// noticed by whoever misses its numbers.
package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
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
	log     *slog.Logger
	http    *http.Client
}

// NewHeartbeat makes a watcher of its address. quiet has it told of failures alone: of the tasks of one execution one tells the rest.
func NewHeartbeat(address string, quiet bool, log *slog.Logger) (*Heartbeat, error) {
	at, err := url.Parse(address)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, errors.New("heartbeat: what is referred to isn't an address such as https://hc-ping.com/UUID") // it may be a secret all the same
	}
	if err := encrypted(at); err != nil {
		return nil, fmt.Errorf("heartbeat: %w", err)
	}
	return &Heartbeat{at, quiet, log, &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
}

// Start tells that a run begins.
func (h *Heartbeat) Start(ctx context.Context) {
	if h != nil && !h.quiet {
		h.tell(ctx, "start")
	}
}

// End tells with which exit code a run ended; 0 is a success.
func (h *Heartbeat) End(ctx context.Context, code int) {
	switch {
	case h == nil || h.quiet && code == 0:
	case code == 0:
		h.tell(ctx, "")
	default:
		h.tell(ctx, strconv.Itoa(code))
	}
}

// tell asks for an address, also when ctx is over. What goes wrong is a warning that doesn't say where, and changes nothing.
func (h *Heartbeat) tell(ctx context.Context, what string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatTime)
	defer cancel()
	if err := h.ask(ctx, what); err != nil {
		h.log.Warn("the heartbeat could not be sent; the run itself isn't affected", "error", err)
	}
}

func (h *Heartbeat) ask(ctx context.Context, what string) error {
	at := *h.address
	if what != "" {
		at = *at.JoinPath(what)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at.String(), http.NoBody)
	if err != nil {
		return errors.New("its address isn't understood")
	}
	resp, err := h.http.Do(req)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // its text has the address
		}
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("it answered %s", resp.Status)
	}
	return nil
}
