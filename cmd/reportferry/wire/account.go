package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/adjust/transport"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/jobs"
)

// An Account has what is needed to ask one account of the service.
type Account struct {
	Client *adjust.Client
	Token  transport.TokenSource // nil when the account has none
}

// Account returns the account with a name. The empty name stands for the service's own account. The
// client of an account is made when it is first needed.
func (e *Engine) Account(name string) (Account, error) {
	if name == "" {
		return Account{e.Client, e.Token}, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if a, made := e.accounts[name]; made {
		return a, nil
	}
	a, err := e.newAccount(e.Config.ServiceOf(name), 0)
	if err == nil {
		if e.accounts == nil {
			e.accounts = map[string]Account{}
		}
		e.accounts[name] = a
	}
	return a, err
}

// After limits the requests of this engine and of the one before it, so that both together press
// the service no harder than one of them alone.
func (e *Engine) After(before *Engine) {
	e.Client.After(before.Client)
	before.mu.Lock()
	defer before.mu.Unlock()
	for name, old := range before.accounts {
		if e.Config.ServiceOf(name).Account == "" || e.Config.Service.Embedded {
			continue // the config has no such account any more, or the account is an emulator of its own
		}
		if a, err := e.Account(name); err == nil { // the account's jobs report an error
			a.Client.After(old.Client)
		}
	}
}

// mostAtOnce bounds the number of windows of all accounts that are under way at once, because each
// has files open and rows in memory.
const mostAtOnce = 64

// Parallel returns how many units are done at once: as many as the requests that all accounts of
// jobs together may have in flight, at most mostAtOnce, and at least as many as the service's own
// account may have.
func (e *Engine) Parallel() int {
	units := 0
	counted := map[string]bool{} // accounts
	for _, c := range e.Config.Jobs {
		if c.Account != "" && !counted[c.Account] {
			counted[c.Account] = true
			units += max(1, cmp.Or(e.Config.ServiceOf(c.Account).InFlight, transport.UsualInFlight)/max(1,
				e.Task.count))
		}
	}
	return max(e.Client.InFlight(), min(units, mostAtOnce))
}

// tokenKey returns the key of the config that says where an account's token is.
func tokenKey(account string) string {
	if account == "" {
		return "service.token"
	}
	return "accounts." + account + ".token"
}

// tokenless is the token source of a service that has no token of its own, because only its
// accounts have tokens.
type tokenless struct{}

// Token returns an error that says how to name an account.
func (tokenless) Token(context.Context) (string, error) {
	return "", errors.New("service has no token of its own; name one of the config's accounts by --account")
}

// Refresh does what Token does.
func (t tokenless) Refresh(ctx context.Context) (string, error) { return t.Token(ctx) }

// An Embedded is a service in this process: an emulator that the first request starts. Starting one
// takes a while, and many accounts may have nothing to do.
type Embedded struct {
	options emulator.Options
	started sync.Once
	server  *emulator.Server
	err     error
}

// Server returns the emulator, and starts it unless it was started before.
func (m *Embedded) Server() (*emulator.Server, error) {
	m.started.Do(func() { m.server, m.err = emulator.New(m.options) })
	return m.server, m.err
}

// Client returns an HTTP client that reaches the emulator, whatever the address in a request.
func (m *Embedded) Client() *http.Client { return &http.Client{Transport: m} }

// RoundTrip implements http.RoundTripper.
func (m *Embedded) RoundTrip(r *http.Request) (*http.Response, error) {
	server, err := m.Server()
	if err != nil {
		return nil, fmt.Errorf("start the embedded service: %w", err)
	}
	return server.Client().Transport.RoundTrip(r)
}

// Close ends the emulator. No request may begin afterwards.
func (m *Embedded) Close() error {
	if m.started.Do(func() {}); m.server == nil {
		return nil
	}
	return m.server.Close()
}

// seedOf returns the seed of an embedded account, so that each has numbers of its own. It is 0 for
// the service's own account.
func seedOf(account string) int64 {
	if account == "" {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(account)) // a hash takes all bytes without an error
	return int64(h.Sum32()) + 1
}

// jobClient returns the client of a job's account. Waits reports what its requests wait for.
func (s *Session) jobClient(c config.Job) (*adjust.Client, error) {
	a, err := s.Account(c.Account)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", c.Name, err)
	}
	return s.watched(c.Name, a.Client), nil
}

// Credential reads the token of an account, or of the service's own, and keeps it.
func (e *Engine) Credential(ctx context.Context, account string) error {
	a, err := e.Account(account)
	if err == nil {
		_, err = a.Token.Token(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", tokenKey(account), text.RefusedError(err))
	}
	return nil
}

// Credentials reads the tokens of the jobs that ask the service. When the token of an account can't
// be read, the plans of its jobs fail with the reason, and the other jobs are done. Credentials
// returns an error when no token at all can be read, or when the service's own token is needed and
// can't be read.
func (s *Session) Credentials(ctx context.Context, list []jobs.Job) error {
	jobsOf := map[string][]int{} // indexes in list, by account
	for i, j := range list {
		if _, never := j.Kind.(unmadeKind); !never && s.Config.Job(j.Name).AsksService() {
			jobsOf[j.Account] = append(jobsOf[j.Account], i)
		}
	}
	failed := make(chan error, len(jobsOf))
	var g errgroup.Group
	g.SetLimit(16) // a secret manager takes its time
	for account, own := range jobsOf {
		g.Go(func() error {
			err := s.Credential(ctx, account)
			if err == nil {
				return nil
			}
			failed <- err
			for _, i := range own {
				list[i].Kind = unmadeKind{err}
			}
			if account == "" {
				return err
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil || len(jobsOf) == 0 || len(failed) < len(jobsOf) {
		return err
	}
	return <-failed
}

// Spread returns a line for each entry of the config that stands for one job per account, with the
// names of the chosen jobs. It returns none when each entry is one job.
func Spread(chosen []config.Job) (lines []string) {
	jobsOf := map[string][]string{}
	var entries []string
	for _, c := range chosen {
		if c.Account == "" {
			continue
		}
		if jobsOf[c.Entry] == nil {
			entries = append(entries, c.Entry)
		}
		jobsOf[c.Entry] = append(jobsOf[c.Entry], c.Name)
	}
	for _, entry := range entries {
		names := jobsOf[entry]
		more := ""
		if len(names) > 4 {
			names, more = names[:3], fmt.Sprintf(" and %d more", len(names)-3)
		}
		lines = append(lines, fmt.Sprintf("%s: a job and a table of each account: %s%s", entry,
			strings.Join(names, ", "), more))
	}
	return lines
}
