package apps

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/reading"
	"github.com/reportferry/reportferry/internal/emulator/store"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// Options say how app automation behaves. Fields without a comment mean what those of
// emulator.Options do.
type Options struct {
	Template   string
	NoTemplate bool
	TicketStep time.Duration
	Readings   reading.Set // how the service does what its document leaves open
	VaultFile  string      // keeps the vault's key; "" keeps nothing
	Now        func() time.Time
	Logger     *slog.Logger
}

// Service answers requests under /app-automation/, and keeps the apps, jobs and vault that they
// make.
type Service struct {
	opts  Options
	world *facts.World
	store *store.DB
	jobs  jobScript
	vault vaultKey
}

// New makes the endpoints over the world's database. A kept file's vault must be readable.
func New(w *facts.World, o Options) (*Service, error) {
	s := &Service{opts: o, world: w, store: w.Store}
	s.vault.file = o.VaultFile
	return s, s.openVault()
}

// endpoint is a way to call app automation. It runs in one transaction, alone, and its error undoes
// all it wrote.
type endpoint struct {
	method, path string // "{...}" stands for any one element
	needsBody    bool   // a body of JSON is required
	do           func(*call) (any, error)
}

// call is one request to an endpoint.
type call struct {
	service *Service
	ctx     context.Context
	tx      *sql.Tx
	account *facts.Edit // within tx
	request *http.Request
	now     time.Time // by the data's clock
	path    []string  // what stood for the "{...}", in order
	body    fields

	queued bool // the request has queued a job
}

// csvAnswer is an answer that isn't JSON.
type csvAnswer []byte

// Prefix begins the path of every endpoint.
const Prefix = "/app-automation/"

// endpoints are all endpoints of app automation.
var endpoints = []endpoint{
	{"POST", "app", true, (*call).postApp},
	{"POST", "app/{app_token}", true, (*call).postAppByToken},
	{"PATCH", "app/{app_token}/signature", true, (*call).patchSignature},
	{"GET", "app", false, (*call).getAppByStore},
	{"GET", "app/{app_token}", false, (*call).getApp},
	{"GET", "app/{app_token}/settings", false, (*call).getSettings},
	{"GET", "apps/list", false, (*call).listApps},
	{"GET", "status/{ticket_token}", false, (*call).getStatus},
	{"POST", "events", true, (*call).postEvents},
	{"GET", "settings/csv", false, (*call).exportSettings},
	{"POST", "app/{app_token}/secrets/revoke_outdated", false, (*call).revokeOutdated},
	{"POST", "app/{app_token}/secrets/{secret_id}/revoke", false, (*call).revokeSecret},
	{"POST", "app/{app_token}/secrets/{secret_id}/reactivate", false, (*call).reactivateSecret},
	{"POST", "vault", true, (*call).putVault},
	{"GET", "vault", false, (*call).listVault},
}

// Serve answers a request under /app-automation/. mayCall checks the credentials: if it returns an
// error, that is the answer.
func (s *Service) Serve(x *wire.Exchange, r *http.Request, mayCall func(*http.Request) *wire.Error) {
	x.Wait(r)
	if x.Struck(r, wire.ScriptedError) {
		return
	}
	a, err := s.do(r, mayCall)
	var e *wire.Error
	if err != nil && !errors.As(err, &e) {
		s.opts.Logger.Error("app automation failed", "path", r.URL.Path, "error", err)
		e = wire.Failed("The emulator failed: see its log")
	}
	if e != nil {
		a = e.Reply()
	}
	x.Deliver(a, wire.ScriptedError)
}

// do does what the request asks for. It checks credentials, path and body, in this order.
func (s *Service) do(r *http.Request, mayCall func(*http.Request) *wire.Error) (a wire.Reply, err error) {
	if e := mayCall(r); e != nil {
		return a, e
	}
	at, path, err := findEndpoint(r)
	if err != nil {
		return a, err
	}
	c := &call{service: s, ctx: context.Background(), request: r, now: s.opts.Now(), path: path}
	if r.Method != http.MethodGet {
		if c.body, err = readFields(r, !at.needsBody); err != nil {
			return a, err
		}
	}
	if err := s.stepDueTickets(); err != nil {
		return a, err
	}
	var value any
	err = s.world.Change(c.ctx, func(e *facts.Edit) error {
		c.tx, c.account = e.Tx, e
		value, err = at.do(c)
		value, err = c.underReadings(at, value, err)
		return err
	})
	if err != nil {
		return a, err
	}
	switch value := value.(type) {
	case csvAnswer:
		return wire.Reply{Status: http.StatusOK, ContentType: wire.CSV, Body: value}, nil
	case wire.Reply:
		return value, nil
	}
	a = wire.Reply{Status: http.StatusOK, ContentType: "application/json"}
	a.Body, err = json.Marshal(value)
	return a, err
}

// findEndpoint finds the endpoint of a request, whose path may end with a slash, and returns it
// with what stood for each "{...}" of its path.
func findEndpoint(r *http.Request) (endpoint, []string, error) {
	known := false
	parts := strings.Split(strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, Prefix), "/"), "/")
	for _, e := range endpoints {
		path, ok := matchPath(strings.Split(e.path, "/"), parts)
		if ok && e.method == r.Method {
			return e, path, nil
		}
		known = known || ok
	}
	if known {
		return endpoint{}, nil, wire.BadRequest("Method %s is not supported", r.Method)
	}
	return endpoint{}, nil, wire.NotFound(r)
}

// matchPath compares a path with a pattern, element by element, and returns what stood for each
// "{...}".
func matchPath(pattern, parts []string) (path []string, ok bool) {
	if len(pattern) != len(parts) {
		return nil, false
	}
	for i, p := range pattern {
		switch {
		case p[0] == '{' && parts[i] != "":
			path = append(path, parts[i])
		case p != parts[i]:
			return nil, false
		}
	}
	return path, true
}
