package emulator

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const costPath = "/cost"

var errClosing = errors.New("the emulator is being closed")

// serveCost answers POST /cost. It isn't in the request log, whose lines would hold Cost IDs: the books are.
func (s *Server) serveCost(w http.ResponseWriter, r *http.Request) {
	x := &exchange{ResponseWriter: w}
	if x.fault = s.script.next(r, s.now()); x.fault != nil && s.costFault(x, r, x.fault) {
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
	s.answerCost(x, status)
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

// answerCost answers as the request's fault wants it; the documented bodies are the statuses' names.
func (s *Server) answerCost(x *exchange, status int) {
	f := x.fault
	if f == nil {
		f = &Fault{}
	}
	switch {
	case f.Kind == FaultLost && f.Status == 0:
		reset(x)
	case f.Kind == FaultLost:
		x.plain(f.Status, f.RetryAfter)
	case f.Kind == FaultEmpty:
		x.WriteHeader(status)
	case f.Kind == FaultCut:
		x.Header().Set("Content-Length", strconv.Itoa(len(costWords(status))))
		x.WriteHeader(status)
		_, _ = io.WriteString(x, costWords(status)[:1])
		_ = http.NewResponseController(x).Flush()
		panic(http.ErrAbortHandler)
	default:
		x.plain(status, 0)
	}
}

func costWords(status int) string {
	if status == http.StatusOK {
		return "OK"
	}
	return http.StatusText(status)
}

// plain answers with the status's name.
func (x *exchange) plain(status, retryAfter int) {
	x.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if retryAfter > 0 {
		x.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	}
	x.WriteHeader(status)
	_, _ = io.WriteString(x, costWords(status)) // a client that is gone needs no answer
}

// costFault answers in place of the service, when the request's fault asks for that; nothing is taken then.
func (s *Server) costFault(x *exchange, r *http.Request, f *Fault) bool {
	switch f.Kind {
	case FaultStatus:
		x.plain(f.Status, f.RetryAfter)
		return true
	case FaultSlow:
		if s.wait(r, f.Delay) != nil {
			panic(http.ErrAbortHandler)
		}
		return false
	case FaultHTML, FaultReset:
		return s.faultInstead(x, r)
	default:
		return false
	}
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
