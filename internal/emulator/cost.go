package emulator

import (
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// costPath is where partners post spend.
const costPath = "/cost"

// spendOptions say who may post spend. Their fields are those of Options.
type spendOptions struct {
	partners map[string]string
	header   string
	open     bool
	kept     bool // an answer waits until its record is in the file
	now      func() time.Time
	logger   *slog.Logger
}

// spendService answers POST /cost and keeps the books of what arrived.
type spendService struct {
	opts  spendOptions
	world *world
	books *books
}

// newSpend makes the endpoint. Of a kept file's log it makes the books that it comes to.
func newSpend(w *world, o spendOptions) (*spendService, error) {
	s := &spendService{opts: o, world: w, books: newBooks()}
	return s, s.openBooks()
}

// publish brings the facts up to what the books say, so that a report that begins after it shows every record that was
// answered before.
func (s *spendService) publish() error { return s.books.publish(s.world.store) }

// serve answers POST /cost.
func (s *spendService) serve(x *exchange, r *http.Request) {
	if x.struck(r, plain) {
		s.books.faulted()
		return
	}
	x.wait(r)
	status, refused, err := s.take(r)
	if err != nil {
		s.opts.logger.Error("cost failed", "error", err)
		status, refused = http.StatusInternalServerError, "books: not written"
	}
	s.books.answered(status, refused)
	x.deliver(plain(status, 0), plain)
}

// take does what the request asks, in the order of credential, form, permission. refused says in fixed words why it
// didn't; the statuses' own names say it to the client.
func (s *spendService) take(r *http.Request) (status int, refused string, err error) {
	network, known := s.partner(r.Header)
	if !known {
		return http.StatusUnauthorized, "credential: absent or unknown", nil
	}
	rec, refused := readCost(r)
	if refused != "" {
		return http.StatusBadRequest, refused, nil
	}
	now := s.opts.now().Truncate(time.Second) // as the log keeps it
	e, found := s.world.findEngagement(rec.costID, now)
	if found && network != "" && e.Network != network {
		return http.StatusForbidden, "credential: of another network", nil
	}
	return http.StatusOK, "", s.books.take(rec, e, found, now)
}

// partner finds the network that the credential may post for; "" is any.
func (s *spendService) partner(h http.Header) (network string, known bool) {
	if s.opts.open {
		return "", true
	}
	key := h.Get(s.opts.header)
	if s.opts.header == "Authorization" {
		key, known = strings.CutPrefix(key, "Bearer ")
		if !known {
			return "", false
		}
	}
	if key = strings.TrimSpace(key); len(s.opts.partners) == 0 {
		return "", key != ""
	}
	network, known = s.opts.partners[key]
	return network, known && key != ""
}

// plain answers with the status's name, as the documents have it for /cost.
func plain(status, retryAfter int) reply {
	return reply{status: status, retryAfter: retryAfter, contentType: "text/plain; charset=utf-8", body: []byte(http.StatusText(status))}
}
