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

	"github.com/reportferry/reportferry/cmd/reportferry/text/exit"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/adjust/transport"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/jobs"
)

// An Account is how one account of the service is asked.
type Account struct {
	Client *adjust.Client
	Token  transport.TokenSource // nil: none is there
}

// Account is that of a name; the empty name is the service's own. It is made when it is first
// needed.
func (e *Engine) Account(name string) (Account, error) {
	if name == "" {
		return Account{e.Client, e.Token}, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if a, made := e.accounts[name]; made {
		return a, nil
	}
	a, err := e.service(e.Config.ServiceOf(name), 0)
	if err == nil {
		if e.accounts == nil {
			e.accounts = map[string]Account{}
		}
		e.accounts[name] = a
	}
	return a, err
}

// After makes the engine press the service no harder together with one that was there before it
// than one of them alone.
func (e *Engine) After(before *Engine) {
	e.Client.After(before.Client)
	before.mu.Lock()
	defer before.mu.Unlock()
	for name, old := range before.accounts {
		if e.Config.ServiceOf(name).Account == "" || e.Config.Service.Embedded {
			continue // it is there no more, or another emulator
		}
		if a, err := e.Account(name); err == nil { // else its jobs say so
			a.Client.After(old.Client)
		}
	}
}

// mostAtOnce bounds the windows of all accounts that are under way, because each has files open and
// rows in memory.
const mostAtOnce = 64

// Parallel is how many units are done at once: as many as the requests that all accounts of jobs
// may have under way.
func (e *Engine) Parallel() int {
	units := 0
	seen := map[string]bool{}
	for _, c := range e.Config.Jobs {
		if c.Account != "" && !seen[c.Account] {
			seen[c.Account] = true
			units += max(1, cmp.Or(e.Config.ServiceOf(c.Account).InFlight, transport.UsualInFlight)/max(1,
				e.Task.count))
		}
	}
	return max(e.Client.InFlight(), min(units, mostAtOnce))
}

// tokenKey is the key of the config that says where an account's token is.
func tokenKey(account string) string {
	if account == "" {
		return "service.token"
	}
	return "accounts." + account + ".token"
}

// tokenless is the token of a service whose accounts alone have some.
type tokenless struct{}

func (tokenless) Token(context.Context) (string, error) {
	return "", errors.New("service has no token of its own; name one of the config's accounts by --account")
}

func (t tokenless) Refresh(ctx context.Context) (string, error) { return t.Token(ctx) }

// An Embedded service is an emulator that the first request starts, because that takes a while and
// many accounts may have nothing to do.
type Embedded struct {
	options emulator.Options
	started sync.Once
	server  *emulator.Server
	err     error
}

// Server starts it, unless it was started before.
func (m *Embedded) Server() (*emulator.Server, error) {
	m.started.Do(func() { m.server, m.err = emulator.New(m.options) })
	return m.server, m.err
}

// Client is what reaches it, whatever the address.
func (m *Embedded) Client() *http.Client { return &http.Client{Transport: m} }

// RoundTrip implements http.RoundTripper.
func (m *Embedded) RoundTrip(r *http.Request) (*http.Response, error) {
	server, err := m.Server()
	if err != nil {
		return nil, fmt.Errorf("start the embedded service: %w", err)
	}
	return server.Client().Transport.RoundTrip(r)
}

// Close ends it. No request begins any more.
func (m *Embedded) Close() error {
	if m.started.Do(func() {}); m.server == nil {
		return nil
	}
	return m.server.Close()
}

// seedOf is the seed of an embedded account, so that each has numbers of its own; 0 for the
// service's own.
func seedOf(account string) int64 {
	if account == "" {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(account)) // it takes all
	return int64(h.Sum32()) + 1
}

// asking is the client of a job's account, of whose requests Waits tells.
func (s *Session) asking(c config.Job) (*adjust.Client, error) {
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
		return fmt.Errorf("%s: %w", tokenKey(account), exit.Refused(err))
	}
	return nil
}

// Credentials reads the tokens of the jobs that ask the service. A job whose account has none that
// can be read has a plan that says so, and the others are done. Where there is none at all, or that
// of the service itself is missing, the error says so.
func (s *Session) Credentials(ctx context.Context, list []jobs.Job) error {
	of := map[string][]int{}
	for i, j := range list {
		if _, never := j.Kind.(unmade); !never && s.Config.Job(j.Name).AsksService() {
			of[j.Account] = append(of[j.Account], i)
		}
	}
	failed := make(chan error, len(of))
	var g errgroup.Group
	g.SetLimit(16) // a secret manager takes its time
	for account, own := range of {
		g.Go(func() error {
			err := s.Credential(ctx, account)
			if err == nil {
				return nil
			}
			failed <- err
			for _, i := range own {
				list[i].Kind = unmade{err}
			}
			if account == "" {
				return err
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil || len(of) == 0 || len(failed) < len(of) {
		return err
	}
	return <-failed
}

// Spread says in which jobs an entry of the config stands, for those that are chosen; empty: each
// is a job by itself.
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
