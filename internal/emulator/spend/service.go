package spend

import (
	"cmp"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/reading"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// Path is where partners post spend.
const Path = "/cost"

// Options say who may post spend, and how it is answered. Fields without a comment are explained in
// the emulator's Options.
type Options struct {
	Partners map[string]string
	Header   string
	Open     bool
	Readings reading.Set // how the service does what its document leaves open
	Kept     bool        // an answer waits until its record is in the file
	Now      func() time.Time
	Logger   *slog.Logger
}

// Service answers POST /cost and keeps the books of what arrived.
type Service struct {
	opts  Options
	world *facts.World
	costs *costStore
	posts atomic.Int64 // records that came; busy counts them
}

// New makes the endpoint. If a file is kept, it restores what was taken from the log in it.
func New(w *facts.World, o Options) (*Service, error) {
	s := &Service{opts: o, world: w, costs: newCostStore(o.Readings)}
	return s, s.restore()
}

// Publish brings the table facts up to date, so that a report that begins after it shows every
// record that was answered before.
func (s *Service) Publish() error { return s.costs.publish(s.world.Store) }

// Serve answers POST /cost.
func (s *Service) Serve(x *wire.Exchange, r *http.Request) {
	if x.Fault.Refuses() {
		s.costs.answers.Fault() // before the client can ask for the counts
	}
	if x.Struck(r, plain) {
		return
	}
	x.Wait(r)
	status, refused, err := s.take(r)
	if err != nil {
		s.opts.Logger.Error("cost failed", "error", err)
		status, refused = http.StatusInternalServerError, "books: not written"
	}
	reply := s.reply(status, refused)
	s.costs.answers.Answer(reply.Status, refused)
	x.Deliver(reply, plain)
}

// take takes the record of a request, after it has checked the credential, the form and the
// permission, in this order. refused says in fixed words why it wasn't taken; by default the client
// is shown the status's name instead.
func (s *Service) take(r *http.Request) (status int, refused string, err error) {
	sent, refused := s.parameters(r)
	network, known := s.partner(r.Header, sent)
	if !known {
		return http.StatusUnauthorized, "credential: absent or unknown", nil
	}
	if status, busy := s.busy(); busy {
		return status, "rate: too many records", nil
	}
	var rec record
	if refused == "" {
		rec, refused = s.readRecord(r.Method, sent)
	}
	if refused != "" {
		return http.StatusBadRequest, refused, nil
	}
	now := s.opts.Now().Truncate(time.Second) // as the log keeps it
	e, matches := s.world.FindEngagement(rec.costID, now)
	if matches && network != "" && e.Network != network {
		return http.StatusForbidden, "credential: of another network", nil
	}
	return s.costs.take(rec, e, matches, now)
}

// partner finds the network that the credential may post for, which is in the header or in the
// parameters; "" is any.
func (s *Service) partner(h http.Header, sent []string) (network string, known bool) {
	if s.opts.Open || s.opts.Readings.Is(reading.SpendAuth, "open") {
		return "", true
	}
	header := s.opts.Header
	if header == "Authorization" && s.opts.Readings.Is(reading.SpendAuth, "header") {
		header = "X-Partner-Key"
	}
	key := h.Get(header)
	if header == "Authorization" && !s.opts.Readings.Is(reading.SpendAuth, "parameter") {
		key, known = strings.CutPrefix(key, "Bearer ")
		if !known {
			return "", false
		}
	}
	if s.opts.Readings.Is(reading.SpendAuth, "parameter") {
		key = ""
		for _, encoded := range sent {
			v, _ := url.ParseQuery(encoded) // what can be read of it
			key = cmp.Or(key, v.Get("partner_key"))
		}
	}
	if key = strings.TrimSpace(key); len(s.opts.Partners) == 0 {
		return "", key != ""
	}
	network, known = s.opts.Partners[key]
	return network, known && key != ""
}

// busy tells whether the next record is one too many, and the status with which it is answered.
func (s *Service) busy() (status int, busy bool) {
	if s.opts.Readings.Is(reading.SpendBusy, "never") || s.posts.Add(1)%postsPerRefusal != 0 {
		return 0, false
	}
	if s.opts.Readings.Is(reading.SpendBusy, "503") {
		return http.StatusServiceUnavailable, true
	}
	return http.StatusTooManyRequests, true
}

// postsPerRefusal is after how many records busy refuses one: the last of each 500.
const postsPerRefusal = 500

// plain answers with the status's name, as the documents have it for /cost.
func plain(status, retryAfter int) wire.Reply {
	return wire.Reply{Status: status, RetryAfter: retryAfter, ContentType: "text/plain; charset=utf-8",
		Body: []byte(http.StatusText(status))}
}
