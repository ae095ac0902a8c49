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
	"time"
)

var rounds = flag.Int("n", 100, "rounds of processes racing for one claim")

// TestMain lets the test binary be a process of its own in the race for claims.
func TestMain(m *testing.M) {
	if url := os.Getenv("CLAIM_RACER_URL"); url != "" {
		run := race
		if os.Getenv("CLAIM_RACER_DESK") != "" {
			run = share
		}
		if err := run(url, os.Getenv("CLAIM_RACER_NAME")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// race tries for the claim of each unit named on standard input, and answers with the number that it won, or with 0.
// It gives back what it won before it tries for the next.
func race(url, name string) error {
	l, err := openURL(context.Background(), url)
	if err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		c, err := l.Claim(context.Background(), "installs", in.Text(), name, time.Minute)
		var held *HeldError
		if err != nil && !errors.As(err, &held) {
			return err
		}
		won := 0
		if err == nil {
			won = c.number
		}
		fmt.Println(won)
		if !in.Scan() { // all have tried
			break
		}
		if err == nil {
			if err := c.Release(context.Background()); err != nil {
				return err
			}
		}
		fmt.Println("ready")
	}
	return in.Err()
}

// share works on units as often as CLAIM_RACER_TIMES says. While it holds one, nobody else may be at its desk, where it
// writes down the claim's number.
func share(url, name string) error {
	l, err := openURL(context.Background(), url)
	if err != nil {
		return err
	}
	times, err := strconv.Atoi(os.Getenv("CLAIM_RACER_TIMES"))
	if err != nil {
		return err
	}
	for i := 0; i < times; {
		unit := fmt.Sprint("u", rand.IntN(2))
		c, err := l.Claim(context.Background(), "installs", unit, name, time.Minute)
		var held *HeldError
		if errors.As(err, &held) {
			continue
		}
		if err != nil {
			return err
		}
		if err := c.work(os.Getenv("CLAIM_RACER_DESK"), unit); err != nil {
			return err
		}
		if err := c.Release(context.Background()); err != nil {
			return err
		}
		i++
	}
	return nil
}

func (c *Claim) work(desk, unit string) error {
	seat := filepath.Join(desk, unit+".seat")
	if err := os.Mkdir(seat, 0o700); err != nil {
		return fmt.Errorf("%s is held by two: %w", unit, err)
	}
	book, err := os.OpenFile(filepath.Join(desk, unit), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(book, c.number)
	return errors.Join(err, book.Close(), os.Remove(seat))
}

// sweepAlways drops claims that were given back until the test is over.
func sweepAlways(t *testing.T, l *Ledger) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	sweeps := 0
	wg.Go(func() {
		table, err := l.Table(ctx, "installs")
		for ; err == nil && ctx.Err() == nil; sweeps++ {
			err = table.sweep(ctx, 0)
		}
		if err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		t.Logf("%d sweeps meanwhile", sweeps)
	})
}

func racer(url string, i int, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "CLAIM_RACER_URL="+url, fmt.Sprintf("CLAIM_RACER_NAME=p%d", i)), env...)
	cmd.Stderr = os.Stderr
	return cmd
}

const processes = 8

// Eight processes race for one claim, a hundred times on plain files and twenty on a server, while claims are swept: one
// winner each, and of a unit each number once.
func TestProcessesRaceForOneClaim(t *testing.T) {
	everyPlace(t, func(t *testing.T, p place) {
		if p.url != "" { // other processes don't see this one's memory
			raceForOneClaim(t, p)
		}
	})
}

func raceForOneClaim(t *testing.T, p place) {
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
	sweepAlways(t, p.open(t))
	all := func(line string) (answers []string) {
		for _, w := range in { // all of them, before any answer is read
			_, err := fmt.Fprintln(w, line)
			check(t, err)
		}
		for i, r := range out {
			if !r.Scan() {
				t.Fatalf("%s: process %d has ended", line, i)
			}
			answers = append(answers, r.Text())
		}
		return answers
	}
	last := map[string]int{}
	for round := range p.rounds {
		unit, winners := fmt.Sprint("unit-", round%3), 0
		for _, answer := range all(unit) {
			number, err := strconv.Atoi(answer)
			check(t, err)
			if number == 0 {
				continue
			}
			winners++
			if number <= last[unit] {
				t.Fatalf("round %d: number %d of %s again", round, number, unit)
			}
			last[unit] = number
		}
		if winners != 1 {
			t.Fatalf("round %d: %d winners", round, winners)
		}
		all("give back")
	}
	t.Logf("%d rounds of %d processes, one winner each", p.rounds, processes)
}

// Eight processes take and give back two units as fast as they can, while claims are swept: never two at one, and its
// numbers ascend.
func TestProcessesRaceWithSweeper(t *testing.T) {
	everyPlace(t, func(t *testing.T, p place) {
		if p.url != "" {
			raceWithSweeper(t, p)
		}
	})
}

func raceWithSweeper(t *testing.T, p place) {
	desk, times := t.TempDir(), max(1, p.rounds/5)
	var racers []*exec.Cmd
	for i := range processes {
		cmd := racer(p.url, i, "CLAIM_RACER_DESK="+desk, fmt.Sprint("CLAIM_RACER_TIMES=", times))
		check(t, cmd.Start())
		racers = append(racers, cmd)
	}
	sweepAlways(t, p.open(t))
	for _, cmd := range racers {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	worked := 0
	for _, unit := range []string{"u0", "u1"} {
		book, err := os.ReadFile(filepath.Join(desk, unit))
		check(t, err)
		last := 0
		for _, line := range strings.Fields(string(book)) {
			number, err := strconv.Atoi(line)
			check(t, err)
			if number <= last {
				t.Fatalf("%s: number %d after %d", unit, number, last)
			}
			last = number
			worked++
		}
	}
	if worked != processes*times {
		t.Errorf("worked %d times, want %d", worked, processes*times)
	}
	t.Logf("%d claims of 2 units by %d processes, each held by one", worked, processes)
}
