package emulator

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// appOptions say how app automation goes. Their fields are those of Options.
type appOptions struct {
	template   string
	noTemplate bool
	ticketStep time.Duration
	vaultFile  string // keeps the vault's key; "" keeps nothing
	now        func() time.Time
	logger     *slog.Logger
}

// appService answers what is under /app-automation/ and keeps the apps, jobs and vault that come of it.
type appService struct {
	opts  appOptions
	world *world
	store *store
	jobs  jobScript
	vault vaultKey
}

// newApps makes the endpoints over the world's database. A kept file's vault must be readable.
func newApps(w *world, o appOptions) (*appService, error) {
	s := &appService{opts: o, world: w, store: w.store}
	s.vault.file = o.vaultFile
	return s, s.openVault()
}

// endpoint is a way to call app automation. It runs in one transaction, alone, and its error undoes all it wrote.
type endpoint struct {
	method, path string // "{...}" stands for any one element
	body         bool   // JSON is required
	do           func(*call) (any, error)
}

// call is one request to an endpoint.
type call struct {
	s    *appService
	ctx  context.Context
	tx   *sql.Tx
	r    *http.Request
	now  time.Time
	path []string // what stood for the "{...}", in order
	body fields
}

// csvAnswer is an answer that isn't JSON.
type csvAnswer []byte

// automationPrefix begins the path of every endpoint.
const automationPrefix = "/app-automation/"

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

// serve answers what is under /app-automation/. may is who is let in: its error is the answer.
func (s *appService) serve(x *exchange, r *http.Request, may func(*http.Request) *serviceError) {
	x.wait(r)
	if x.struck(r, scriptedError) {
		return
	}
	a, err := s.do(r, may)
	var e *serviceError
	if err != nil && !errors.As(err, &e) {
		s.opts.logger.Error("app automation failed", "path", r.URL.Path, "error", err)
		e = failed("The emulator failed: see its log")
	}
	if e != nil {
		a = e.reply()
	}
	x.deliver(a, scriptedError)
}

// do does what the request asks for, in the order of credentials, path, body.
func (s *appService) do(r *http.Request, may func(*http.Request) *serviceError) (a reply, err error) {
	if e := may(r); e != nil {
		return a, e
	}
	at, path, err := findEndpoint(r)
	if err != nil {
		return a, err
	}
	c := &call{s: s, ctx: context.Background(), r: r, now: s.opts.now(), path: path}
	if r.Method != http.MethodGet {
		if c.body, err = readFields(r, !at.body); err != nil {
			return a, err
		}
	}
	if err := s.settleTickets(); err != nil {
		return a, err
	}
	var value any
	err = s.store.change(c.ctx, func(tx *sql.Tx) error {
		c.tx = tx
		value, err = at.do(c)
		return err
	})
	if err != nil {
		return a, err
	}
	if text, ok := value.(csvAnswer); ok {
		return reply{status: http.StatusOK, contentType: csvType, body: text}, nil
	}
	a = reply{status: http.StatusOK, contentType: "application/json"}
	a.body, err = json.Marshal(value)
	return a, err
}

// findEndpoint finds who answers a path, with or without a slash behind it.
func findEndpoint(r *http.Request) (endpoint, []string, error) {
	known := false
	parts := strings.Split(strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, automationPrefix), "/"), "/")
	for _, e := range endpoints {
		path, ok := matchPath(strings.Split(e.path, "/"), parts)
		if ok && e.method == r.Method {
			return e, path, nil
		}
		known = known || ok
	}
	if known {
		return endpoint{}, nil, badRequest("Method %s is not supported", r.Method)
	}
	return endpoint{}, nil, notFound(r)
}

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
