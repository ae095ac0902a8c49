//go:build servers && iceberg

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cloud.google.com/go/civil"
	"github.com/apache/iceberg-go/table"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/sinks/sinktest"
)

// roundsOfALake is how many runs break before the next begins without a table.
const roundsOfALake = 7

// Runs with a fault at a random place: a request to the catalog that is refused, cut, late, or done
// without an answer, a catalog that crashes, a service that fails, the program killed or told to
// end, another job that rewrites files or removes snapshots, another run, and several at once. All
// numbers are restated before each, and again before the clean run that follows it. The table
// equals the truth, nothing is doubled, and at no time a reader sees a partition that isn't whole,
// or that is older than what was there already.
func TestIcebergWhateverBreaks(t *testing.T) {
	server := sinktest.StartCatalog(t)
	front := server.NewFront(t)
	const days = 4
	today := civil.DateOf(time.Now().UTC())
	var services []*service
	var truths [][][]string
	first := startService(t, "--days", "30", "--apps", "2", "--latency", "20ms")
	for _, s := range []*service{
		first, first.restated(t, "11", "--days", "30", "--apps", "2", "--latency", "20ms"),
		first.restated(t, "13", "--days", "30", "--apps", "2", "--latency", "20ms"),
	} {
		services, truths = append(services, s), append(truths, s.truth(t, today.AddDays(-days), today.AddDays(-1)))
	}
	dice := rand.New(rand.NewPCG(*killSeed, 1))
	t.Logf("seed %d, %d runs", *killSeed, *kills)
	happened := map[string]int{}
	var l *lake
	polls, state := 0, -1 // the state is the service whose numbers are there
	for i := range *kills {
		b := drawLake(dice, i)
		if i%roundsOfALake == 0 {
			l, state = newLake(t, server, front.URI, services[0], days, dying), -1
			l.allNumbers(t)
		}
		t.Run(fmt.Sprintf("%03d %s", i, b), func(t *testing.T) {
			l.t = t
			broken, clean := (state+1)%3, (state+2)%3
			order := [][][]string{truths[broken], truths[clean]}
			if state >= 0 {
				order = append([][][]string{truths[state]}, order...)
			}
			reader := l.watch(t, order, b.beside == "expiry")
			front.Break(b.front)
			s := services[broken]
			s.admin(t, http.MethodPut, "faults", append([]emulator.Fault{}, b.service...))
			l.serve(t, services, broken)
			b.happen(t, l, server, front, happened)
			if front.Broke() > 0 {
				happened[fmt.Sprintf("%s %s", b.front.Kind, b.front.Call)]++
			}
			if b.before {
				front.Settle()
				time.Sleep(100 * time.Millisecond) // for the reader
			}
			if b.front.Kind != sinktest.CatalogLate { // which may come in the clean run, or after it
				front.Break(sinktest.CatalogFault{})
			}
			s.admin(t, http.MethodPut, "faults", []emulator.Fault{})
			l.serve(t, services, clean)
			l.settle(t, "run", "--force")
			front.Break(sinktest.CatalogFault{})
			front.Settle()
			polls += reader()
			l.holds(t, truths[clean])
			state = clean
			if i%roundsOfALake == roundsOfALake-1 || i == *kills-1 {
				l.quiet(t)
				l.rewritten(t, truths[clean])
			}
		})
		if t.Failed() {
			return // the next would fail by what is there
		}
	}
	t.Logf("what happened: %v; a reader has seen %d states", happened, polls)
}

// serve has the job ask one of the services.
func (l *lake) serve(t *testing.T, services []*service, now int) {
	t.Helper()
	l.service = services[now]
	path := l.dir + "/reportferry.yml"
	data, err := os.ReadFile(path)
	check(t, err)
	text := string(data)
	for _, s := range services {
		text = strings.ReplaceAll(text, s.url+",", services[now].url+",")
	}
	check(t, os.WriteFile(path, []byte(text), 0o600))
}

// watch has a reader look at the table again and again, until the returned function is called,
// which counts its reads. Each partition is as in one of the states, given the oldest first, and
// never an older one than before.
func (l *lake) watch(t *testing.T, states [][][]string, expires bool) (stop func() int) {
	known := map[string]int{} // a partition's text to the state that it is of
	for i, rows := range states {
		for _, text := range byDay(rows) {
			known[text] = i
		}
	}
	done, polls := make(chan struct{}), 0
	var reader sync.WaitGroup
	reader.Go(func() {
		newest := map[string]int{}
		for {
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
			rows, err := l.rows(context.Background())
			if errors.Is(err, fs.ErrNotExist) && !expires {
				t.Errorf("a reader misses a file of the table: %v", err)
				return
			}
			if err != nil {
				continue // the table isn't made yet, or the catalog is away
			}
			polls++
			found := byDay(rows)
			for day := range newest {
				if found[day] == "" {
					t.Errorf("%s is gone", day)
					return
				}
			}
			for day, text := range found {
				state, is := known[text]
				if !is {
					t.Errorf("%s has %d rows at a time, which are none of its states", day, strings.Count(text, "\n"))
					return
				}
				if state < newest[day] {
					t.Errorf("%s is as in state %d, after it was as in state %d", day, state, newest[day])
					return
				}
				newest[day] = state
			}
		}
	})
	return func() int { close(done); reader.Wait(); return polls }
}

// byDay is the text of each partition.
func byDay(rows [][]string) map[string]string {
	texts := map[string]*strings.Builder{}
	for _, row := range rows {
		if texts[row[0]] == nil {
			texts[row[0]] = &strings.Builder{}
		}
		fmt.Fprintf(texts[row[0]], "%q\n", row)
	}
	found := map[string]string{}
	for day, text := range texts {
		found[day] = text.String()
	}
	return found
}

// quiet wants all to be as recorded, and a run to write nothing.
func (l *lake) quiet(t *testing.T) {
	t.Helper()
	if out, code := l.run("check"); code != 0 {
		t.Errorf("check: exit code %d: %s", code, out)
	}
	before := l.content(t)
	if out, code := l.run("run", "--now"); code != 0 || l.content(t) != before {
		t.Errorf("a run after a clean one: exit code %d, and wrote something: %s", code, out)
	}
}

// rewritten wants rows that another job has put into other files to be as recorded, and a run to
// leave them alone.
func (l *lake) rewritten(t *testing.T, want [][]string) {
	t.Helper()
	check(t, l.compact(t.Context()))
	l.quiet(t)
	l.holds(t, want)
}

// compact rewrites each partition's files, and leaves the rows alone, as jobs do that tidy tables.
func (l *lake) compact(ctx context.Context) error {
	of, err := l.table(ctx)
	if err != nil {
		return err
	}
	tasks, err := of.Scan().PlanFiles(ctx)
	if err != nil {
		return err
	}
	groups := map[string]*table.CompactionTaskGroup{}
	for _, task := range tasks {
		key := fmt.Sprint(task.File.Partition())
		if groups[key] == nil {
			groups[key] = &table.CompactionTaskGroup{PartitionKey: key}
		}
		groups[key].Tasks = append(groups[key].Tasks, task)
	}
	var all []table.CompactionTaskGroup
	for _, group := range groups {
		all = append(all, *group)
	}
	tx := of.NewTransaction()
	if _, err := tx.RewriteDataFiles(ctx, all, table.RewriteDataFilesOptions{}); err != nil {
		return err
	}
	_, err = tx.Commit(ctx)
	return err
}

// expire removes all snapshots but the last, with the files that only they have.
func (l *lake) expire(ctx context.Context) error {
	of, err := l.table(ctx)
	if err != nil {
		return err
	}
	tx := of.NewTransaction()
	if err := tx.ExpireSnapshots(table.WithOlderThan(0), table.WithRetainLast(1)); err != nil {
		return err
	}
	_, err = tx.Commit(ctx)
	return err
}

// A lakeBreakage is what goes wrong in a run.
type lakeBreakage struct {
	front   sinktest.CatalogFault
	service []emulator.Fault
	beside  string        // who else works on the table: compaction, expiry, or another run
	then    string        // the catalog crashes, or the program is killed or told to end
	after   time.Duration // when; 0: as soon as the fault of the front has happened
	before  bool          // what is late comes before the clean run begins
}

// drawLake draws what goes wrong in a run of a number. The kinds take turns.
func drawLake(dice *rand.Rand, number int) (b lakeBreakage) {
	catalog := func(kinds ...string) {
		b.front = sinktest.CatalogFault{Kind: kinds[dice.IntN(len(kinds))], Call: sinktest.CatalogCommit,
			Nth: 1 + dice.IntN(4), Times: 1 + dice.IntN(3)}
		switch dice.IntN(6) {
		case 0:
			b.front.Call = sinktest.CatalogLoad
		case 1:
			b.front.Call, b.front.Nth = sinktest.CatalogCreate, 1
		case 2:
			b.front.Call, b.front.Nth = sinktest.CatalogConfig, 1
		}
		switch b.front.Kind {
		case sinktest.CatalogRefused:
			b.front.Status = []int{403, 409, 429, 500, 502, 503, 504}[dice.IntN(7)]
		case sinktest.CatalogMasked:
			b.front.Status = []int{409, 500, 502, 503, 504}[dice.IntN(5)]
		case sinktest.CatalogLate, sinktest.CatalogHeld:
			b.front.Delay = time.Duration(100+dice.IntN(2500)) * time.Millisecond
		}
	}
	whichever := []string{sinktest.CatalogRefused, sinktest.CatalogCut, sinktest.CatalogLost, sinktest.CatalogMasked,
		sinktest.CatalogLate, sinktest.CatalogHeld}
	later := func(what string) { b.then, b.after = what, time.Duration(50+dice.IntN(900))*time.Millisecond }
	switch number % 12 {
	case 0, 1, 2:
		catalog(whichever...)
	case 3, 4: // the commit comes while its run is gone
		catalog(sinktest.CatalogLate, sinktest.CatalogHeld)
		b.front.Call, b.front.Times = sinktest.CatalogCommit, 1
		b.then, b.before = []string{"kill", "term"}[dice.IntN(2)], dice.IntN(2) == 0
	case 5:
		later("crash")
	case 6: // before the commit, or after it
		catalog(sinktest.CatalogCut, sinktest.CatalogLost)
		b.front.Call, b.then = sinktest.CatalogCommit, "crash"
	case 7: // the run takes longer, so that the others are often in its way
		b.beside = "compaction"
		catalog(sinktest.CatalogHeld, sinktest.CatalogMasked, sinktest.CatalogLost)
		b.front.Call, b.front.Nth, b.front.Delay = sinktest.CatalogCommit, 1, b.front.Delay/4
	case 8:
		b.beside = "expiry"
		catalog(sinktest.CatalogHeld)
		b.front.Call, b.front.Nth, b.front.Delay = sinktest.CatalogCommit, 1, b.front.Delay/4
		if dice.IntN(2) == 0 {
			later("kill")
		}
	case 9:
		b.beside = "run"
		catalog(whichever...)
	case 10:
		b.service = []emulator.Fault{{Nth: 1 + dice.IntN(4), Kind: emulator.FaultCut,
			AfterBytes: int64(dice.IntN(20_000))}}
		catalog(whichever...)
	default:
		later([]string{"kill", "kill", "term"}[dice.IntN(3)])
	}
	return b
}

func (b lakeBreakage) String() string {
	var parts []string
	if f := b.front; f.Kind != "" {
		parts = append(parts, fmt.Sprintf("%s %s %d times %d status %d delay %s", f.Kind, f.Call, f.Nth, f.Times,
			f.Status, f.Delay))
	}
	for _, f := range b.service {
		parts = append(parts, fmt.Sprintf("service %s %d", f.Kind, f.Nth))
	}
	if b.beside != "" {
		parts = append(parts, "beside "+b.beside)
	}
	if b.then != "" {
		parts = append(parts, fmt.Sprintf("%s after %s", b.then, b.after))
	}
	if b.before {
		parts = append(parts, "then quiet")
	}
	return strings.Join(parts, ", ")
}

// happen runs the program, and has go wrong what is to. It returns when nobody works on the table
// any more.
func (b lakeBreakage) happen(t *testing.T, l *lake, server *sinktest.Catalog, front *sinktest.Front,
	happened map[string]int) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var others sync.WaitGroup
	var done, lost atomic.Int64 // rewrites and removals, and those in whose way somebody was
	tidy := func(do func(context.Context) error) {
		others.Go(func() {
			for ctx.Err() == nil {
				switch err := do(ctx); {
				case err == nil:
					done.Add(1)
				case errors.Is(err, table.ErrCommitFailed):
					lost.Add(1)
				default: // there is no table yet, or a file was removed meanwhile
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	switch b.beside {
	case "expiry":
		tidy(l.expire)
		tidy(l.compact)
	case "compaction":
		tidy(l.compact)
	}
	var runs []*exec.Cmd
	start := func() {
		cmd, _ := l.command(t.Context(), "run", "--force")
		check(t, cmd.Start())
		runs = append(runs, cmd)
	}
	start()
	if b.beside == "run" {
		start()
	}
	ended := make(chan struct{})
	go func() {
		for _, cmd := range runs {
			_ = cmd.Wait() // whatever becomes of it
		}
		close(ended)
	}()
	b.wait(front, ended)
	switch b.then {
	case "crash":
		server.Crash()
		time.Sleep(300 * time.Millisecond)
		server.Start(t)
		happened["crash"]++
	case "kill", "term":
		select {
		case <-ended:
			happened[b.then+" too late"]++
		default:
			// It may end now.
			_ = runs[0].Process.Signal(map[string]syscall.Signal{"kill": syscall.SIGKILL,
				"term": syscall.SIGTERM}[b.then])
			happened[b.then]++
		}
	}
	<-ended
	stop()
	others.Wait()
	if b.beside == "run" {
		happened["another run"]++
	} else if b.beside != "" {
		happened[b.beside] += int(done.Load())
		happened[b.beside+" lost"] += int(lost.Load())
	}
	if code := runs[0].ProcessState.ExitCode(); code != 0 && b.then != "kill" {
		happened[fmt.Sprintf("exit code %d", code)]++
	}
}

// wait waits until it is time for what is to happen then, or all runs have ended.
func (b lakeBreakage) wait(front *sinktest.Front, ended chan struct{}) {
	if b.then == "" {
		return
	}
	if b.after > 0 {
		select {
		case <-ended:
		case <-time.After(b.after):
		}
		return
	}
	for front.Broke() == 0 {
		select {
		case <-ended:
			return
		case <-time.After(time.Millisecond):
		}
	}
}
