package emulator

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"
)

// endpoint is a way to call app automation. It runs in one transaction, alone, and its error undoes all it wrote.
type endpoint struct {
	method, path string // "{...}" stands for any one element
	body         bool   // JSON is required
	do           func(*call) (any, error)
}

// call is one request to an endpoint.
type call struct {
	s    *Server
	ctx  context.Context
	tx   *sql.Tx
	r    *http.Request
	now  time.Time
	path []string // what stood for the "{...}", in order
	body fields
}

// csvAnswer is an answer that isn't JSON.
type csvAnswer []byte

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

// serveAutomation answers what is under /app-automation/.
func (s *Server) serveAutomation(x *exchange, r *http.Request) {
	if s.wait(r, s.opts.Latency) != nil {
		panic(http.ErrAbortHandler) // nobody waits for the answer
	}
	if s.struck(x, r, scriptedError) {
		return
	}
	a, err := s.automate(r)
	var e *serviceError
	if err != nil && !errors.As(err, &e) {
		s.opts.Logger.Error("app automation failed", "path", r.URL.Path, "error", err)
		e = &serviceError{status: http.StatusInternalServerError, code: codeService, desc: "The emulator failed: see its log"}
	}
	if e != nil {
		a = e.reply()
	}
	x.deliver(a, scriptedError)
}

// automate does what the request asks for, in the order of credentials, path, body.
func (s *Server) automate(r *http.Request) (a reply, err error) {
	if e := s.mayAutomate(r); e != nil {
		return a, e
	}
	at, path, err := findEndpoint(r)
	if err != nil {
		return a, err
	}
	c := &call{s: s, ctx: context.Background(), r: r, now: s.now(), path: path}
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
	return endpoint{}, nil, &serviceError{status: http.StatusNotFound, code: codeRequest, desc: "Not found: " + r.URL.Path}
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
