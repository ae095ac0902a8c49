package emulator

import (
	"crypto/rand"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"

	"golang.org/x/time/rate"

	"github.com/reportferry/reportferry/internal/emulator/reading"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// Role says what a token's user may do. Readers have no access to app automation; reports are open
// to all.
type Role string

// The roles of the service's users.
const (
	RoleAdmin  Role = "Admin"
	RoleEditor Role = "Editor"
	RoleReader Role = "Reader"
)

func (r Role) validate() error {
	switch r {
	case RoleAdmin, RoleEditor, RoleReader:
		return nil
	}
	return fmt.Errorf("role %q is not Admin, Editor or Reader", string(r))
}

// callers are the tokens that are let in.
type callers struct {
	mu    sync.Mutex
	any   bool            // every token is let in, except those that were reset; unlisted ones are an Admin's
	roles map[string]Role // the roles of the listed tokens' users, by token
	reset map[string]bool // the tokens that were reset, which are refused
}

// set lets in the tokens of the options. If they have none, it lets in every token.
func (c *callers) set(o Options) {
	c.roles, c.reset = map[string]Role{}, map[string]bool{}
	maps.Copy(c.roles, o.Tokens)
	if o.Token != "" {
		c.roles[o.Token] = RoleAdmin
	}
	c.any = len(c.roles) == 0
}

// role returns the role of a token's user. It returns false when the token isn't let in.
func (c *callers) role(token string) (Role, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reset[token] {
		return "", false
	}
	if role, ok := c.roles[token]; ok || !c.any {
		return role, ok
	}
	return RoleAdmin, true
}

// ResetToken makes a new token for the user of the old one, which is refused from then on. It
// returns "" and false when old isn't let in. Resets last as long as s.
func (s *Server) ResetToken(old string) (token string, ok bool) {
	role, ok := s.callers.role(old)
	if !ok || old == "" {
		return "", false
	}
	token = strings.ToLower(rand.Text())
	s.callers.mu.Lock()
	defer s.callers.mu.Unlock()
	delete(s.callers.roles, old)
	s.callers.reset[old] = true
	s.callers.roles[token] = role
	return token, true
}

// authenticate checks credentials and account, in this order.
func (s *Server) authenticate(r *http.Request) (token string, role Role, e *wire.Error) {
	header := r.Header.Get("Authorization")
	token, ok := strings.CutPrefix(header, "Bearer ")
	if !ok { // the form of the service's older interfaces
		token, ok = strings.CutPrefix(header, "Token token=")
		token = strings.Trim(token, `"`)
	}
	token = strings.TrimSpace(token)
	if !ok || token == "" {
		return "", "", &wire.Error{Status: http.StatusUnauthorized, Code: wire.CodeAuth,
			Desc: "Authorization header with a Bearer token is required"}
	}
	if role, ok = s.callers.role(token); !ok {
		return "", "", &wire.Error{Status: http.StatusUnauthorized, Code: wire.CodeAuth, Desc: "Invalid API token"}
	}
	if id := r.Header.Get("X-Account-ID"); id != "" && id != AccountID {
		return "", "", wire.Forbidden("No access to account " + id)
	}
	return token, role, nil
}

// admit checks the rate limit of the caller's address, the credentials, the account and the method,
// in this order. A rate limit by token is checked after the credentials.
func (s *Server) admit(r *http.Request) *wire.Error {
	limited := &wire.Error{Status: http.StatusTooManyRequests, Code: wire.CodeRequest, Desc: "Rate limit exceeded",
		RetryAfter: 1}
	byAddress := s.readings.Is(reading.RateBy, "address")
	if byAddress && !s.allow(address(r)) {
		return limited
	}
	token, _, e := s.authenticate(r)
	if e != nil {
		return e
	}
	if !byAddress && !s.allow(token) {
		return limited
	}
	if r.Method != http.MethodGet {
		return wire.BadRequest("Method %s is not supported", r.Method)
	}
	return nil
}

// address returns the caller's address without its port: everybody behind one router shares a rate
// limit. All callers by the in-process client share one, too.
func address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// allow takes one token from the bucket of an address or an API token. The bucket runs on real time
// (fake inside a synctest bubble), not on the data's clock, which a test may hold still.
func (s *Server) allow(caller string) bool {
	if s.opts.Rate < 0 {
		return true
	}
	s.limitMu.Lock()
	l := s.limiters[caller]
	if l == nil {
		l = rate.NewLimiter(rate.Limit(s.opts.Rate), s.opts.Burst)
		s.limiters[caller] = l
	}
	s.limitMu.Unlock()
	return l.Allow()
}

// mayAutomate checks what app automation asks for besides a token.
func (s *Server) mayAutomate(r *http.Request) *wire.Error {
	_, role, e := s.authenticate(r)
	switch {
	case e != nil:
		return e
	case s.opts.NoAutomation:
		return wire.Forbidden("App automation is not enabled for this account")
	case role == RoleReader:
		return wire.Forbidden("App automation needs an Admin's or an Editor's token")
	}
	return nil
}
