package emulator

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
)

const costPath = "/cost"

var errClosing = errors.New("the emulator is being closed")

// serveCost answers POST /cost. It isn't in the request log, whose lines would hold Cost IDs: the books are.
func (s *Server) serveCost(w http.ResponseWriter, r *http.Request) {
	x := &exchange{ResponseWriter: w}
	if x.fault = s.script.next(r, s.now()); s.struck(x, r, plain) {
		s.books.faulted()
		return
	}
	if s.wait(r, s.opts.Latency) != nil {
		panic(http.ErrAbortHandler) // nobody waits for the answer
	}
	status, refused, err := s.takeCost(r)
	if err != nil {
		s.opts.Logger.Error("cost failed", "error", err)
		status, refused = http.StatusInternalServerError, "books: not written"
	}
	s.books.answered(status, refused)
	x.deliver(plain(status, 0), plain)
}

// takeCost does what the request asks, in the order of credential, form, permission.
func (s *Server) takeCost(r *http.Request) (status int, refused string, err error) {
	network, known := s.partner(r.Header)
	if !known {
		return http.StatusUnauthorized, "credential: absent or unknown", nil
	}
	rec, refused := readCost(r)
	if refused != "" {
		return http.StatusBadRequest, refused, nil
	}
	now := s.now().Truncate(time.Second) // as the log keeps it
	e, found := s.findEngagement(rec.costID, now)
	if found && network != "" && s.sliceOf(e).network != network {
		return http.StatusForbidden, "credential: of another network", nil
	}
	return http.StatusOK, "", s.books.take(rec, e, found, now)
}

// partner finds the network that the credential may post for; "" is any.
func (s *Server) partner(h http.Header) (network string, known bool) {
	if s.opts.OpenSpend {
		return "", true
	}
	key := h.Get(s.opts.SpendHeader)
	if s.opts.SpendHeader == "Authorization" {
		key, known = strings.CutPrefix(key, "Bearer ")
		if !known {
			return "", false
		}
	}
	if key = strings.TrimSpace(key); len(s.opts.Partners) == 0 {
		return "", key != ""
	}
	network, known = s.opts.Partners[key]
	return network, known && key != ""
}

func costWords(status int) string {
	if status == http.StatusOK {
		return "OK"
	}
	return http.StatusText(status)
}

// plain answers with the status's name, as the documents have it for /cost.
func plain(status, retryAfter int) reply {
	return reply{status: status, retryAfter: retryAfter, contentType: "text/plain; charset=utf-8", body: []byte(costWords(status))}
}

// wait sleeps until d is over, the client gone, or the server about to be closed.
func (s *Server) wait(r *http.Request, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(s.closing, func() { cancel(errClosing) })()
	return sleep(ctx, d)
}
