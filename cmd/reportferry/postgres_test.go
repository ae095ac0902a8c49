//go:build servers

package main

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cloud.google.com/go/civil"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/sinks/sinktest"
)

// A shelf is a schema of a Postgres, and a place whose job puts its table there.
type shelf struct {
	*place
	schema string
	pool   *pgxpool.Pool
}

// newShelf is a shelf that is reached at an address, which is the server's own or that of a wire.
func newShelf(t *testing.T, server *sinktest.Postgres, addr string, s *service, days int, lease,
	settings string) *shelf {
	t.Helper()
	w := &shelf{place: newPlace(t, s, days, 2, lease)}
	var statement string
	w.schema, statement = sinktest.NewSchema()
	config, err := pgxpool.ParseConfig("sslmode=disable")
	check(t, err)
	host, port, _ := strings.Cut(server.Addr, ":")
	c := config.ConnConfig
	c.Host, c.User, c.Password, c.Database = host, server.User, server.Password, "postgres"
	_, err = fmt.Sscan(port, &c.Port)
	check(t, err)
	w.pool, err = pgxpool.NewWithConfig(t.Context(), config)
	check(t, err)
	t.Cleanup(w.pool.Close)
	_, err = w.pool.Exec(t.Context(), statement)
	check(t, err)
	w.env = []string{"SHELF_PASSWORD=" + url.PathEscape(server.Password)}
	w.edit(t, "sinks: [file://"+w.dir+"/out]",
		fmt.Sprintf(`sinks: ["postgres://%s:${SHELF_PASSWORD}@%s/postgres/%s?sslmode=disable"]%s`, server.User, addr,
			w.schema, settings))
	return w
}

const asked = "\n    postgres: {indexes: [[app_token, network]]}"
const swapped = "\n    postgres: {partitioned: true, indexes: [[app_token, network], [campaign]]}"

// rows are those of the job's table, as truth writes them.
func (w *shelf) rows() ([][]string, error) {
	found, err := w.pool.Query(context.Background(),
		`SELECT ARRAY[day::text, app_token, country_code, network, campaign, installs::text, clicks::text,
		trim_scale(cost)::text, trim_scale(all_revenue)::text, trim_scale(ecpi_all)::text, purchase_events::text, trim_scale(purchase_revenue)::text]
		FROM `+w.schema+".installs")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, pgx.RowTo[[]string])
}

// holds wants the table to be equal to the service's own rows.
func (w *shelf) holds(t *testing.T, want [][]string) {
	t.Helper()
	got, err := w.rows()
	check(t, err)
	slices.SortFunc(got, slices.Compare)
	if !slices.EqualFunc(got, want, slices.Equal) {
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || !slices.Equal(got[i], want[i]) {
				t.Fatalf("%d rows, want %d; the first that differs:\n%q, want\n%q", len(got), len(want),
					got[min(i, len(got)-1)], want[min(i, len(want)-1)])
			}
		}
	}
}

// loads is all that is remembered of puts.
func (w *shelf) loads(t *testing.T) (text string) {
	t.Helper()
	check(t, w.pool.QueryRow(t.Context(),
		"SELECT string_agg(l::text, ' ' ORDER BY l) FROM "+w.schema+"._reportferry_loads l").Scan(&text))
	return text
}

// settle runs the program until all is done. A run that lost a partition to a late commit leaves it
// to the next one.
func (w *shelf) settle(t *testing.T, args ...string) {
	t.Helper()
	var out string
	var code int
	for range 60 {
		if out, code = w.run(args...); code == 0 && !strings.Contains(unfolded(out), "held by another run") {
			return
		}
		if code != 0 && code != 3 && code != 4 {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	t.Fatalf("exit code %d: %s", code, out)
}

// Sixty days by twelve apps land equal to the service's own answer; a second run writes nothing; a
// day fetched again replaces only itself, and leaves no row of campaigns that are gone.
func TestPostgresHoldsTheTruth(t *testing.T) {
	server := sinktest.StartPostgres(t)
	const days = 60
	s := startService(t, "--days", "80", "--apps", "12")
	other := s.restated(t, "11", "--days", "80", "--apps", "12")
	today := civil.DateOf(time.Now().UTC())
	first, day, last := today.AddDays(-days), today.AddDays(-5), today.AddDays(-1)
	want := s.truth(t, first, last)
	restated := slices.Concat(s.truth(t, first, day.AddDays(-1)), other.truth(t, day, day),
		s.truth(t, day.AddDays(1), last))
	for name, settings := range map[string]string{"deleted": asked, "swapped": swapped} {
		t.Run(name, func(t *testing.T) {
			w := newShelf(t, server, server.Addr, s, days, living, settings)
			if out, code := w.run("run"); code != 0 {
				t.Fatalf("exit code %d: %s", code, out)
			}
			w.holds(t, want)
			t.Logf("%d rows of %d days", len(want), days)
			loads := w.loads(t)
			if out, code := w.run("run", "--now"); code != 0 || w.loads(t) != loads {
				t.Errorf("a second run: exit code %d, and wrote something: %s", code, out)
			}
			w.allNumbers(t)
			w.edit(t, s.url, other.url)
			if out, code := w.run("backfill", "installs", "--from", day.String(), "--to", day.String(),
				"--force"); code != 0 {
				t.Fatalf("exit code %d: %s", code, out)
			}
			w.holds(t, restated)
			if out, code := w.run("check"); code != 0 {
				t.Errorf("check: exit code %d: %s", code, out)
			}
		})
	}
}

// Runs with a fault at a random place, each followed by a clean one: a connection that breaks, an
// answer or a commit that is lost or late, a server that crashes, a backend that is killed, a
// service that fails, or the program killed, and both at once. The table equals the truth, and at
// no time a reader sees a partition that is neither empty nor whole.
func TestPostgresWhateverBreaks(t *testing.T) {
	server := sinktest.StartPostgres(t)
	s := startService(t, "--days", "30", "--apps", "2", "--latency", "20ms")
	today := civil.DateOf(time.Now().UTC())
	const days = 4
	want := s.truth(t, today.AddDays(-days), today.AddDays(-1))
	whole := map[string]int{}
	for _, row := range want {
		whole[row[0]]++
	}
	dice := rand.New(rand.NewPCG(*killSeed, 1))
	t.Logf("seed %d, %d runs", *killSeed, *kills)
	happened := map[string]int{}
	for i := range *kills {
		b := drawShelf(dice)
		t.Run(fmt.Sprintf("%03d %s", i, b), func(t *testing.T) {
			wire := sinktest.NewWire(t, server)
			w := newShelf(t, server, wire.Addr, s, days, dying, []string{asked, swapped}[i%2])
			done := make(chan struct{})
			var reader sync.WaitGroup
			reader.Go(func() { w.poll(t, whole, done) })
			wire.Break(b.wire)
			s.admin(t, http.MethodPut, "faults", append([]emulator.Fault{}, b.service...))
			cmd, _ := w.command(t.Context(), "run")
			check(t, cmd.Start())
			if b.after > 0 {
				time.Sleep(b.after)
			}
			switch b.then {
			case "crash":
				server.Crash()
				time.Sleep(300 * time.Millisecond)
				server.Start(t)
			case "backend":
				if w.killBackend() {
					happened["backend"]++
				}
			case "kill":
				_ = cmd.Process.Signal(syscall.SIGKILL) // it may have ended
			}
			_ = cmd.Wait() // whatever becomes of it
			if cmd.ProcessState.ExitCode() != 0 && b.then != "" {
				happened[b.then+", and the run didn't end well"]++
			}
			if wire.Broke() {
				happened[b.wire.Kind]++
			}
			wire.Break(sinktest.WireFault{})
			s.admin(t, http.MethodPut, "faults", []emulator.Fault{})
			w.settle(t, "run")
			time.Sleep(2 * b.wire.Delay) // whatever is under way ends
			close(done)
			reader.Wait()
			w.holds(t, want)
		})
	}
	t.Logf("what happened: %v", happened)
}

// poll looks at the table again and again: each partition has no rows or all of them.
func (w *shelf) poll(t *testing.T, whole map[string]int, done chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-time.After(5 * time.Millisecond):
		}
		rows, err := w.pool.Query(context.Background(),
			"SELECT day::text, count(*)::bigint FROM "+w.schema+".installs GROUP BY day")
		if err != nil {
			continue
		}
		seen := map[string]int{}
		var day string
		var n int
		if _, err := pgx.ForEachRow(rows, []any{&day, &n}, func() error { seen[day] = n; return nil }); err != nil {
			continue // not made yet, or the server is away
		}
		for day, n := range seen {
			if n != whole[day] {
				t.Errorf("%s has %d rows at a time, whole it has %d", day, n, whole[day])
				return
			}
		}
	}
}

// killBackend kills the process of one of the program's connections, upon which Postgres restarts
// all of them.
func (w *shelf) killBackend() bool {
	var pid int
	err := w.pool.QueryRow(context.Background(),
		"SELECT pid FROM pg_stat_activity WHERE application_name = 'reportferry' ORDER BY state_change DESC LIMIT 1").Scan(&pid)
	return err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil // the run may have ended
}

// A shelfBreakage is what goes wrong in a run.
type shelfBreakage struct {
	wire    sinktest.WireFault
	service []emulator.Fault
	after   time.Duration
	then    string // after that time: the server's crash, a killed backend, or the program killed
}

func drawShelf(dice *rand.Rand) (b shelfBreakage) {
	kinds := []string{sinktest.WireReset, sinktest.WireMute, sinktest.WireUnsent, sinktest.WireLost, sinktest.WireLate}
	cable := func() {
		b.wire = sinktest.WireFault{Kind: kinds[dice.IntN(len(kinds))], Nth: 1 + dice.IntN(7),
			Delay: time.Duration(100+dice.IntN(2500)) * time.Millisecond}
		if b.wire.Kind == sinktest.WireReset || b.wire.Kind == sinktest.WireMute {
			b.wire.Nth = 1 + dice.IntN(80)
		}
		if b.wire.Kind != sinktest.WireLate {
			b.wire.Delay = 0
		}
	}
	later := func(what string) { b.then, b.after = what, time.Duration(50+dice.IntN(500))*time.Millisecond }
	switch dice.IntN(10) {
	case 0, 1, 2, 3:
		cable()
	case 4: // an older put's commit, while its run is gone
		cable()
		later("kill")
	case 5:
		later("crash")
	case 6:
		later("backend")
	case 7:
		b.service = []emulator.Fault{{Nth: 1 + dice.IntN(4), Kind: emulator.FaultCut,
			AfterBytes: int64(dice.IntN(20_000))}}
		cable()
	default:
		later("kill")
	}
	return b
}

func (b shelfBreakage) String() string {
	text := fmt.Sprintf("%s %d %s after %s", b.wire.Kind, b.wire.Nth, b.then, b.after)
	for _, f := range b.service {
		text += fmt.Sprintf(", service %s %d", f.Kind, f.Nth)
	}
	return text
}

// A run that is killed while its commit is under way, and a backfill of the same days at the same
// time: what was fetched last is what the table holds, though the dead run's commit comes late.
func TestPostgresALateCommitOfADeadRun(t *testing.T) {
	server := sinktest.StartPostgres(t)
	old := startService(t, "--days", "30", "--apps", "2")
	restated := old.restated(t, "11", "--days", "30", "--apps", "2")
	today := civil.DateOf(time.Now().UTC())
	first, last := today.AddDays(-2), today.AddDays(-1)
	for i, settings := range []string{asked, swapped} {
		for nth := 2; nth <= 3; nth++ { // the first COMMIT is of the table of loads
			t.Run(fmt.Sprintf("commit %d of %s", nth, settings), func(t *testing.T) {
				t.Parallel()
				wire := sinktest.NewWire(t, server)
				w := newShelf(t, server, wire.Addr, old, 2, dying, settings)
				// When the next run's puts are under way, and when they are over.
				late := time.Duration(2+i) * time.Second
				wire.Break(sinktest.WireFault{Kind: sinktest.WireLate, Nth: nth, Delay: late})
				night, _ := w.command(t.Context(), "run")
				check(t, night.Start())
				for deadline := time.Now().Add(20 * time.Second); !wire.Broke(); time.Sleep(5 * time.Millisecond) {
					if time.Now().After(deadline) {
						t.Fatal("the night commits nothing")
					}
				}
				broke := time.Now()
				check(t, night.Process.Kill())
				_ = night.Wait() // killed
				w.allNumbers(t)
				w.edit(t, old.url, restated.url)
				w.leases(living)
				w.settle(t, "backfill", "installs", "--from", first.String(), "--to", last.String(), "--force")
				time.Sleep(time.Until(broke.Add(late + time.Second))) // whatever is under way ends
				w.holds(t, restated.truth(t, first, last))
			})
		}
	}
}

// What somebody else did to the table, and a ledger that is lost, are noticed: rows of another
// meaning are refused, those of the same are fetched again, and a table that was dropped comes
// back.
func TestPostgresNotices(t *testing.T) {
	server := sinktest.StartPostgres(t)
	s := startService(t, "--days", "30", "--apps", "2")
	today := civil.DateOf(time.Now().UTC())
	want := s.truth(t, today.AddDays(-3), today.AddDays(-1))
	w := newShelf(t, server, server.Addr, s, 3, living, asked)
	w.settle(t, "run")
	_, err := w.pool.Exec(t.Context(), "DROP TABLE "+w.schema+".installs")
	check(t, err)
	w.settle(t, "run", "--now")
	w.holds(t, want)

	check(t, os.Rename(filepath.Join(w.dir, "ledger"), filepath.Join(w.dir, "lost")))
	w.edit(t, "currency: USD", "currency: EUR")
	out, code := w.run("run")
	if code != 2 || !strings.Contains(unfolded(out),
		"already holds partitions of this table (3) that this ledger didn't put there") ||
		!strings.Contains(unfolded(out), "drop the table") {
		t.Errorf("rows in another currency: exit code %d: %s", code, out)
	}
	golden(t, "postgres-fingerprint", strings.NewReplacer(w.schema, "SCHEMA", server.Addr,
		"HOST:PORT").Replace(refusedLine(out)))
	w.holds(t, want)
	if out, code := w.run("run", "--rebaseline"); code != 0 { // a person has asked for it
		t.Errorf("exit code %d: %s", code, out)
	}
	if rows, err := w.rows(); err != nil || len(rows) != len(want) || slices.EqualFunc(rows, want, slices.Equal) {
		t.Errorf("%d rows, want %d of another currency: %v", len(rows), len(want), err)
	}
	check(t, os.RemoveAll(filepath.Join(w.dir, "ledger")))
	w.edit(t, "currency: EUR", "currency: USD")
	if out, code := w.run("run"); code != 2 {
		t.Errorf("exit code %d: %s", code, out)
	}
	if out, code := w.run("run", "--rebaseline"); code != 0 {
		t.Errorf("exit code %d: %s", code, out)
	}
	w.holds(t, want)
	check(t, os.RemoveAll(filepath.Join(w.dir, "ledger")))
	if out, code := w.run("run"); code != 0 || !strings.Contains(unfolded(out),
		"If the old ledger was lost, all is well") {
		t.Errorf("after a lost ledger: exit code %d: %s", code, out)
	}
	w.holds(t, want)
	w.edit(t, "[installs, clicks, cost, all_revenue, ecpi_all]",
		"[installs, clicks, cost, all_revenue, ecpi_all, sessions]")
	w.settle(t, "run", "--now")
	w.holds(t, want)
}

// The password is nowhere: not in what is printed, not in logs, errors, receipts, the ledger or
// pages.
func TestPostgresKeepsTheSecret(t *testing.T) {
	server := sinktest.StartPostgres(t)
	s := startService(t, "--days", "30", "--apps", "2")
	w := newShelf(t, server, server.Addr, s, 2, living, asked)
	w.edit(t, "ledger: ", "export: file://"+w.dir+"/pages\nledger: ")
	_, secret, _ := strings.Cut(server.Password, "/")
	tell := func(args ...string) {
		t.Helper()
		for _, more := range [][]string{nil, {"--log-format", "json", "--log-level", "debug"}} {
			if out, _ := w.run(append(args, more...)...); strings.Contains(out, secret) || out == "" {
				t.Errorf("%v: %s", args, out)
			}
		}
	}
	each := func() {
		for _, args := range []string{"run --now", "plan", "check", "status", "status --json --records", "runs last",
			"history installs", "show", "views installs"} {
			tell(strings.Fields(args)...)
		}
	}
	each()
	server.Crash()
	tell("check")
	server.Start(t)
	w.edit(t, "/postgres/"+w.schema, "/nowhere/"+w.schema)
	each()
	w.edit(t, "sslmode=disable", "sslmode=always")
	tell("run", "--now")
	w.edit(t, "postgres://", "postgres:// ")
	tell("run", "--now")
	check(t, filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), secret) {
			t.Errorf("the password is in %s", path)
		}
		return err
	}))
}

// refusedLine is the line of what was printed that says why a table is refused.
func refusedLine(out string) string {
	if _, text, found := strings.Cut(out, "  error       "); found && strings.Contains(text, "refused,") {
		text, _, _ = strings.Cut(text, "Something is left out")
		return "  error       " + unfolded(text) + "\n"
	}
	return "no line says why: " + out
}
