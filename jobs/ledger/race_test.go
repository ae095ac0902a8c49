package ledger

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/civil"
)

var rounds = flag.Int("n", 100, "rounds of processes racing for leases")

// TestMain lets the test binary be a process of its own in the race for leases.
func TestMain(m *testing.M) {
	if url := os.Getenv("RACER_URL"); url != "" {
		run := race
		if os.Getenv("RACER_DESK") != "" {
			run = share
		}
		if err := run(context.Background(), url, os.Getenv("RACER_NAME")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// contested are partitions that processes race for, of two months.
var contested = []civil.Date{date("2026-01-31"), date("2026-02-01"), date("2026-02-02")}

// race tries to lease the partitions named on standard input, and answers whether it has. What it
// has leased it counts before it tries for the next.
func race(ctx context.Context, url, name string) error {
	table, err := openTableAt(ctx, url)
	if err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var partitions []civil.Date
		for _, word := range strings.Fields(in.Text()) {
			partitions = append(partitions, date(word))
		}
		l, err := table.Begin(ctx, name, partitions)
		if held := (*HeldError)(nil); err != nil && !errors.As(err, &held) {
			return err
		}
		fmt.Println(l != nil)
		if !in.Scan() { // all have tried
			break
		}
		if l != nil {
			if err := count(ctx, table, l, partitions); err != nil {
				return err
			}
		}
		fmt.Println("ready")
	}
	return in.Err()
}

// share works on partitions as often as RACER_TIMES says. While it has leased one, nobody else may
// be at its desk, where it writes a line.
func share(ctx context.Context, url, name string) error {
	table, err := openTableAt(ctx, url)
	if err != nil {
		return err
	}
	times, err := strconv.Atoi(os.Getenv("RACER_TIMES"))
	if err != nil {
		return err
	}
	for i := 0; i < times; {
		first := rand.IntN(len(contested))
		partitions := contested[first : first+1+rand.IntN(len(contested)-first)]
		l, err := table.Begin(ctx, name, partitions)
		if held := (*HeldError)(nil); errors.As(err, &held) {
			continue
		}
		if err != nil {
			return err
		}
		for _, p := range partitions {
			if err := sit(filepath.Join(os.Getenv("RACER_DESK"), p.String())); err != nil {
				return err
			}
		}
		if err := count(ctx, table, l, partitions); err != nil {
			return err
		}
		i++
	}
	return nil
}

func openTableAt(ctx context.Context, url string) (*Table, error) {
	l, err := openURL(ctx, url)
	if err != nil {
		return nil, err
	}
	return l.Table(ctx, "installs")
}

func sit(place string) error {
	if err := os.Mkdir(place+".seat", 0o700); err != nil {
		return fmt.Errorf("leased by two: %w", err)
	}
	f, err := os.OpenFile(place, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f)
	return errors.Join(err, f.Close(), os.Remove(place+".seat"))
}

// count adds one to the rows of partitions, and ends their lease.
func count(ctx context.Context, table *Table, l *Lease, partitions []civil.Date) error {
	var list []Record
	for _, p := range partitions {
		was, _ := table.Recorded(p)
		list = append(list, Record{Partition: p, After: was.Seq, State: Written, Rows: was.Rows + 1,
			Hash: fmt.Sprint(was.Rows + 1)})
		l.Putting(p)
	}
	return errors.Join(append(table.CommitAll(ctx, l, list), l.End(ctx))...)
}

// counted wants each partition to have as many rows and records as it was committed, and no lease.
func counted(t *testing.T, l *Ledger, times map[civil.Date]int) {
	t.Helper()
	table, all := openTable(t, l), 0
	for p, n := range times {
		all += n
		if e, _ := table.Record(p); e.Seq != n || e.Rows != int64(n) || e.State != Written {
			t.Errorf("%s was committed %d times, and its record is %+v", p, n, e)
		}
	}
	t.Logf("%d commits of %d partitions by %d processes", all, len(times), processes)
}

// tidyAlways tidies the table until the test is over.
func tidyAlways(t *testing.T, l *Ledger) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	tidied := 0
	wg.Go(func() {
		table, err := l.Table(ctx, "installs")
		for ; err == nil && ctx.Err() == nil; tidied++ {
			err = table.Tidy(ctx)
		}
		if err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		t.Logf("tidied %d times meanwhile", tidied)
	})
}

func racer(url string, i int, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "RACER_URL="+url, fmt.Sprintf("RACER_NAME=p%d", i)), env...)
	cmd.Stderr = os.Stderr
	return cmd
}

const processes = 8

// everyRace is everyPlace for several processes, which don't see the memory of this one.
func everyRace(t *testing.T, test func(*testing.T, place)) {
	everyPlace(t, func(t *testing.T, p place) {
		if p.url != "" {
			test(t, p)
		}
	})
}

// Eight processes race for leases of the same partitions, a hundred times on plain files and twenty
// on a server, while the table is tidied: one winner each, and no commit is lost.
func TestProcessesRaceForLeases(t *testing.T) {
	everyRace(t, func(t *testing.T, p place) {
		var in []io.WriteCloser
		var out []*bufio.Scanner
		for i := range processes {
			cmd := racer(p.url, i)
			stdin, err := cmd.StdinPipe()
			check(t, err)
			stdout, err := cmd.StdoutPipe()
			check(t, err)
			check(t, cmd.Start())
			t.Cleanup(func() {
				check(t, stdin.Close())
				check(t, cmd.Wait())
			})
			in, out = append(in, stdin), append(out, bufio.NewScanner(stdout))
		}
		tidyAlways(t, p.open(t))
		all := func(line string) (winners int) {
			for _, w := range in { // all of them, before any answer is read
				_, err := fmt.Fprintln(w, line)
				check(t, err)
			}
			for i, r := range out {
				if !r.Scan() {
					t.Fatalf("%s: process %d has ended", line, i)
				}
				if r.Text() == "true" {
					winners++
				}
			}
			return winners
		}
		times := map[civil.Date]int{}
		for round := range p.rounds {
			partitions := contested[round%3:]
			if winners := all(strings.Trim(fmt.Sprint(partitions), "[]")); winners != 1 {
				t.Fatalf("round %d: %d winners", round, winners)
			}
			all("commit")
			for _, p := range partitions {
				times[p]++
			}
		}
		counted(t, p.open(t), times)
	})
}

// Eight processes lease partitions and commit them as fast as they can, while the table is tidied:
// never two at one, and no commit is lost.
func TestProcessesRaceWithTidier(t *testing.T) {
	everyRace(t, func(t *testing.T, p place) {
		desk, each := t.TempDir(), max(1, p.rounds/5)
		var racers []*exec.Cmd
		for i := range processes {
			cmd := racer(p.url, i, "RACER_DESK="+desk, fmt.Sprint("RACER_TIMES=", each))
			check(t, cmd.Start())
			racers = append(racers, cmd)
		}
		tidyAlways(t, p.open(t))
		for _, cmd := range racers {
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		}
		times := map[civil.Date]int{}
		for _, p := range contested {
			lines, err := os.ReadFile(filepath.Join(desk, p.String()))
			check(t, err)
			times[p] = len(lines)
		}
		counted(t, p.open(t), times)
	})
}
