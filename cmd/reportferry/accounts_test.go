package main

import (
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/slow"
)

// An agency is one address of the service behind which each client has an account of its own, with
// other apps and numbers.
type agency struct {
	url      string
	accounts map[string]*emulator.Server // by token
	takes    atomic.Int64                // nanoseconds before each answer

	mu     sync.Mutex
	began  []time.Time
	now    map[string]int // requests under way, by token
	most   map[string]int
	both   int // most requests under way of all accounts
	listed map[string]int
	denied map[string]bool // tokens that are refused, by an answer that repeats every token
}

// agencyTokens are those of client_a, client_b and client_c.
var agencyTokens = []string{"token-of-client-a-4711", "token-of-client-b-0815", "token-of-client-c-1234"}

// startAgency takes so long at first to answer each request.
func startAgency(t *testing.T, takes time.Duration) *agency {
	a := &agency{accounts: map[string]*emulator.Server{}, now: map[string]int{}, most: map[string]int{},
		listed: map[string]int{}, denied: map[string]bool{}}
	a.takes.Store(int64(takes))
	for i, token := range agencyTokens {
		a.accounts[token] = emutest.Open(t, emulator.Options{Seed: int64(i + 1), Apps: 2, Days: 30, Rate: -1,
			Token: token})
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		leave := a.enter(token, r.URL.Path)
		time.Sleep(time.Duration(a.takes.Load()))
		if service := a.accounts[token]; service != nil && !a.refuses(token) {
			service.ServeHTTP(w, r)
		} else {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, "none of %s is %s", strings.Join(agencyTokens, ", "), token)
		}
		leave()
	}))
	t.Cleanup(server.Close)
	a.url = server.URL
	return a
}

func (a *agency) enter(token, path string) (leave func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.began = append(a.began, time.Now())
	a.now[token]++
	a.most[token] = max(a.most[token], a.now[token])
	all := 0
	for _, n := range a.now {
		all += n
	}
	a.both = max(a.both, all)
	if strings.HasSuffix(path, "/filters_data") {
		a.listed[token]++
	}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.now[token]--
	}
}

func (a *agency) refuses(token string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.denied[token]
}

const agencyJob = `
ledger: file://./ledger
jobs:
  - name: %s
    kind: report
    %s
    sinks: [file://./out]
    start: -12d
    page: 2d
    lookback: 0
    currency: USD
    dimensions: [day, app_token, country_code, network]
    metrics: [installs, clicks, cost, all_revenue]
    events: [{name: Purchase, metrics: [events, revenue], as: purchase}]
`

const agencyAccounts = `
service: {base_url: %s, rate: %d, in_flight: 2, attempts: 2}
accounts:
  client_a: {token: "${TOKEN_A}"}
  client_b: {token: "${TOKEN_B}", in_flight: 1}
  client_c: {token: "${TOKEN_C}"}
`

// place is a folder with a config of the three accounts.
func (a *agency) place(t *testing.T, config string) *place {
	t.Helper()
	p := &place{t: t, dir: t.TempDir()}
	for i, name := range []string{"TOKEN_A", "TOKEN_B", "TOKEN_C"} {
		p.env = append(p.env, name+"="+agencyTokens[i])
	}
	check(t, os.WriteFile(filepath.Join(p.dir, "reportferry.yml"), []byte(config), 0o600))
	return p
}

// alone is what the table of one account is like when a config has no other account.
func (a *agency) alone(t *testing.T, i int) map[string]string {
	t.Helper()
	name := "installs_client_" + string(rune('a'+i))
	p := a.place(t, fmt.Sprintf("service: {base_url: %s, token: \"${TOKEN_%c}\", rate: 1000}\n", a.url,
		'A'+i)+fmt.Sprintf(agencyJob, name, "schedule: \"@daily\""))
	if out, code := p.run("run", "--now"); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	return p.partsOf(name)
}

// partsOf gives the parts of a table by the names of their files.
func (p *place) partsOf(name string) map[string]string {
	p.t.Helper()
	found := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(p.dir, "out", name, "dt=*", "*.parquet"))
	check(p.t, err)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		check(p.t, err)
		found[path[len(p.dir):]] = withoutFetch(data)
	}
	return found
}

// keptTokens looks for tokens in what was said, and in every file.
func (p *place) keptTokens(said string) {
	p.t.Helper()
	texts := map[string]string{"what was said": said}
	check(p.t, filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		texts[path] = string(data)
		return err
	}))
	for where, text := range texts {
		for _, token := range agencyTokens {
			if strings.Contains(text, token) {
				p.t.Errorf("%s has a token: %s", where, text)
			}
		}
	}
}

// Three accounts in one config: each table has what it has when its account is asked alone, and
// each account has its own cap of requests at a time.
func TestThreeAccounts(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	a := startAgency(t, 400*time.Millisecond)
	p := a.place(t, fmt.Sprintf(agencyAccounts, a.url, 1000)+fmt.Sprintf(agencyJob, "installs", "accounts: all"))
	out, code := p.run("run", "installs")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	p.keptTokens(out)
	a.takes.Store(0)
	for i, want := range []int{2, 1, 2} {
		if got := a.most[agencyTokens[i]]; got != want {
			t.Errorf("client_%c: %d requests at a time, want %d", 'a'+i, got, want)
		}
		if got := a.listed[agencyTokens[i]]; got != 1 {
			t.Errorf("client_%c: its apps were asked for %d times, want once", 'a'+i, got)
		}
	}
	if a.both < 4 {
		t.Errorf("%d requests at a time of all accounts: they wait for each other", a.both)
	}
	seen := map[string]string{}
	for i := range agencyTokens {
		name := "installs_client_" + string(rune('a'+i))
		got, want := p.partsOf(name), a.alone(t, i)
		if len(want) != 12 || !maps.Equal(got, want) {
			t.Errorf("%s has %d parts, and %d alone, which aren't the same", name, len(got), len(want))
		}
		for part, data := range got {
			if other, twice := seen[data]; twice {
				t.Errorf("%s is %s", part, other)
			}
			seen[data] = part
		}
	}
	for _, c := range []struct{ args, has, hasNot string }{
		{"plan", "installs: a job and a table of each account: installs_client_a, installs_client_b, " +
			"installs_client_c\ninstalls_client_a: nothing is due", "window"},
		{"plan installs_client_b --json", `"job":"installs_client_b","account":"client_b"`, "client_a"},
		{"status installs", "installs_client_c: 20", ""},
		{"status installs_client_c", "installs_client_c: 20", "client_a"},
		{"check installs", "account client_b: ok, the token is good", "service:"},
		{"backfill installs --gaps --dry-run", "installs_client_c: nothing is due", ""},
		{"config show", `token: "${TOKEN_B}"`, ""},
		{"config show installs_client_b", "name: installs\n", ""},
		{"views installs --union", "CREATE OR REPLACE VIEW \"installs\" AS\nSELECT 'client_a' AS \"account\", " +
			"*\nFROM \"installs_client_a\"\nUNION ALL BY NAME\nSELECT 'client_b'", ""},
		{"views installs_client_b", "CREATE OR REPLACE VIEW \"installs_client_b\"", "client_a"},
		{"views installs_client_b --union",
			"--union: installs_client_b is one table; name an entry of the config that has accounts", ""},
		{"accept installs --reason x",
			"installs stands for a job of each of 3 accounts; name one of them, such as installs_client_a", ""},
		{"history installs", "installs stands for a job of each of 3 accounts", ""},
		{"report --dimensions app_token --metrics installs",
			"no API token: the config's service has none of its own; name one of its accounts by --account; the " +
				"config has client_a, client_b, client_c", ""},
		{"apps list --account client_d", "--account client_d: there is no such account; did you mean client_a", ""},
	} {
		out, _ := p.run(strings.Fields(c.args)...)
		if !strings.Contains(out, c.has) || c.hasNot != "" && strings.Contains(out, c.hasNot) {
			t.Errorf("%s: want %q and not %q: %s", c.args, c.has, c.hasNot, out)
		}
		p.keptTokens(out)
	}
	a.mu.Lock()
	a.most = map[string]int{}
	a.mu.Unlock()
	for _, args := range []string{"report --dimensions app_token --metrics installs --currency USD", "events",
		"apps list", "fields --events"} {
		if out, code := p.run(append(strings.Fields(args), "--account", "client_b")...); code != 0 {
			t.Errorf("%s: exit code %d: %s", args, code, out)
		}
	}
	if got := slices.Sorted(maps.Keys(a.most)); !slices.Equal(got, agencyTokens[1:2]) {
		t.Errorf("with --account client_b these were asked: %v", got)
	}
}

// The service limits requests by address, so that all accounts together keep to the rate.
func TestAccountsShareTheRate(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	const rate = 8
	a := startAgency(t, 0)
	p := a.place(t, fmt.Sprintf(agencyAccounts, a.url, rate)+fmt.Sprintf(agencyJob, "installs", "accounts: all"))
	if out, code := p.run("run"); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	if len(a.began) < 3*rate {
		t.Fatalf("%d requests prove nothing", len(a.began))
	}
	for i, at := range a.began { // the service sees a request a little later than it was sent, some more so than others
		n := len(slices.DeleteFunc(slices.Clone(a.began[i:]),
			func(b time.Time) bool { return b.Sub(at) >= time.Second }))
		if n > rate+2 {
			t.Fatalf("%d requests within a second, want at most %d", n, rate)
		}
	}
}

// An account that the service refuses holds up no other, and the last lines say which it was. Its
// answer repeats every token, and none is said.
func TestOneAccountIsRefused(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	a := startAgency(t, 0)
	a.denied[agencyTokens[1]] = true
	p := a.place(t, fmt.Sprintf(agencyAccounts, a.url, 1000)+fmt.Sprintf(agencyJob, "installs", "accounts: all"))
	out, code := p.run("run")
	last := out[max(0, strings.Index(out, "Something is left out")):]
	if code != 5 || !strings.Contains(last, "The service refused 1 account: client_b.") ||
		strings.Contains(last, "client_a.") || !strings.Contains(out, "[token]") {
		t.Errorf("exit code %d: %s", code, out)
	}
	p.keptTokens(out)
	for name, parts := range map[string]int{"installs_client_a": 12, "installs_client_b": 0, "installs_client_c": 12} {
		if got := len(p.partsOf(name)); got != parts {
			t.Errorf("%s has %d parts, want %d", name, got, parts)
		}
	}
	if out, code := p.run("check"); code != 5 || !strings.Contains(out, "account client_b: failed") ||
		!strings.Contains(out, "account client_c: ok") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// A token that isn't there is that account's alone, too; where there is none at all, nothing is
// begun.
func TestOneAccountHasNoToken(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	a := startAgency(t, 0)
	p := a.place(t, fmt.Sprintf(agencyAccounts, a.url, 1000)+fmt.Sprintf(agencyJob, "installs", "accounts: all"))
	p.env = slices.Delete(p.env, 1, 2)
	out, code := p.run("run")
	if code != 2 || !strings.Contains(out, "accounts.client_b.token: ") ||
		!strings.Contains(out, "TOKEN_B: it is not set") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if got := len(p.partsOf("installs_client_c")); got != 12 {
		t.Errorf("installs_client_c has %d parts, want 12", got)
	}
	if out, code := p.run("run", "installs_client_b", "--now"); code != 2 ||
		strings.Contains(out, "Something is left out") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// For a try-out each account of an embedded service has made-up numbers of its own, and no token is
// looked for.
func TestEmbeddedAccounts(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	a := &agency{}
	p := a.place(t, "service: embedded\naccounts: {client_a: {token: \"${NO_SUCH}\"}, client_b: {}}\n"+fmt.Sprintf(
		agencyJob, "installs", "accounts: all"))
	if out, code := p.run("run"); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	one, other := p.partsOf("installs_client_a"), p.partsOf("installs_client_b")
	if len(one) != 12 || len(other) != 12 {
		t.Errorf("%d and %d parts, want 12 of each", len(one), len(other))
	}
	answers := map[string]bool{}
	for _, account := range []string{"client_a", "client_b"} {
		out, code := p.run("report", "--account", account, "--dimensions", "os_name", "--metrics", "installs",
			"--currency", "USD")
		if code != 0 {
			t.Errorf("exit code %d: %s", code, out)
		}
		answers[out] = true
	}
	if len(answers) != 2 {
		t.Errorf("both have the same numbers: %v", answers)
	}
}

// Agencies have hundreds of accounts: each has its table, and the union has a query for each.
func TestTwoHundredAccounts(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	const accounts = 200
	a := startAgency(t, 0)
	// The account of a client's number.
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.Header.Get("Authorization")[len("Bearer token-of-client-"):])
		if err != nil {
			t.Errorf("a request with %q", r.Header.Get("Authorization"))
		}
		token := agencyTokens[n%len(agencyTokens)]
		r.Header.Set("Authorization", "Bearer "+token)
		a.accounts[token].ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	var text strings.Builder
	fmt.Fprintf(&text, "service: {base_url: %s, rate: 1000}\naccounts:\n", front.URL)
	for i := range accounts {
		fmt.Fprintf(&text, "  client_%03d: {token: \"${TOKEN_%03d}\"}\n", i, i)
	}
	p := a.place(t, text.String()+strings.Replace(fmt.Sprintf(agencyJob, "installs", "accounts: all"), "-12d", "-2d",
		1))
	for i := range accounts {
		p.env = append(p.env, fmt.Sprintf("TOKEN_%03d=token-of-client-%d", i, i))
	}
	if out, code := p.run("run"); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	for i := range accounts {
		name := fmt.Sprintf("installs_client_%03d", i)
		like := fmt.Sprintf("installs_client_%03d", i%len(agencyTokens))
		one, other := p.partsOf(name), p.partsOf(like)
		for path, part := range one {
			// The table's name is in both.
			if got := other[strings.Replace(path, name, like, 1)]; len(got) != len(part) {
				t.Errorf("%s has %d bytes, and the table of the same account %d", path, len(part), len(got))
			}
		}
		if len(one) != 2 {
			t.Errorf("%s has %d parts, want 2", name, len(one))
		}
	}
	out, code := p.run("views", "installs", "--union", "--dialect", "duckdb")
	union := out[max(0, strings.LastIndex(out, "CREATE OR REPLACE VIEW")):]
	if code != 0 || strings.Count(union, "UNION ALL BY NAME") != accounts-1 ||
		!strings.Contains(union, "'client_199' AS") {
		t.Errorf("exit code %d: the union is %s", code, union)
	}
}
