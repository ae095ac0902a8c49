package emulator

import (
	"net/http"
	"strconv"
)

// reply is what an endpoint says that may have changed something by then: it is complete before its first byte is sent,
// so that a fault can lose it or break it after all was done.
type reply struct {
	status      int
	retryAfter  int // seconds; 0 sends no Retry-After
	contentType string
	body        []byte
}

func (x *exchange) send(a reply) {
	x.Header().Set("Content-Type", a.contentType)
	if a.retryAfter > 0 {
		x.Header().Set("Retry-After", strconv.Itoa(a.retryAfter))
	}
	x.WriteHeader(a.status)
	_, _ = x.Write(a.body) // a client that is gone needs no answer
}

// struck answers in place of the endpoint, when the request's fault asks for that: nothing is done then. scripted is the
// endpoint's way to answer a status that isn't its own.
func (s *Server) struck(x *exchange, r *http.Request, scripted func(status, retryAfter int) reply) bool {
	if x.fault == nil {
		return false
	}
	switch f := x.fault; f.Kind {
	case FaultStatus:
		x.send(scripted(f.Status, f.RetryAfter))
		return true
	case FaultSlow:
		if s.wait(r, f.Delay) != nil {
			panic(http.ErrAbortHandler) // nobody waits for the answer
		}
		return false
	case FaultHTML, FaultReset:
		return s.faultInstead(x, r)
	default:
		return false
	}
}

// deliver sends the answer of what was done, or what the request's fault makes of it.
func (x *exchange) deliver(a reply, scripted func(status, retryAfter int) reply) {
	f := x.fault
	if f == nil {
		f = &Fault{}
	}
	switch {
	case f.Kind == FaultLost && f.Status == 0:
		reset(x)
	case f.Kind == FaultLost:
		x.send(scripted(f.Status, f.RetryAfter))
	case f.Kind == FaultEmpty:
		x.WriteHeader(a.status)
	case f.Kind == FaultCut:
		n := min(max(int(f.AfterBytes), 1), len(a.body)-1)
		x.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
		x.Header().Set("Content-Type", a.contentType)
		x.WriteHeader(a.status)
		_, _ = x.Write(a.body[:n])
		_ = http.NewResponseController(x).Flush()
		panic(http.ErrAbortHandler)
	default:
		x.send(a)
	}
}
