package jobs

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"gocloud.dev/blob/fileblob"
)

var rounds = flag.Int("n", 100, "rounds of processes racing for one claim")

// TestMain lets the test binary be a process of its own in the race for claims.
func TestMain(m *testing.M) {
	if dir := os.Getenv("CLAIM_RACER_DIR"); dir != "" {
		if err := race(dir, os.Getenv("CLAIM_RACER_NAME")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// race tries for the claim of each unit named on standard input, and answers won or lost.
func race(dir, name string) error {
	bucket, err := fileblob.OpenBucket(dir, &fileblob.Options{CreateDir: true, NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
	if err != nil {
		return err
	}
	l := OpenLedger(LedgerOptions{Bucket: bucket, Dir: dir, URL: "file://" + dir})
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		_, err := l.Claim(context.Background(), "installs", in.Text(), name, time.Minute)
		var held *HeldError
		switch {
		case err == nil:
			fmt.Println("won")
		case errors.As(err, &held):
			fmt.Println("lost")
		default:
			return err
		}
	}
	return in.Err()
}

// Eight processes race for one claim on plain files, a hundred times: one winner each.
func TestProcessesRaceForOneClaim(t *testing.T) {
	const processes = 8
	dir := t.TempDir()
	var in []io.WriteCloser
	var out []*bufio.Scanner
	for i := range processes {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "CLAIM_RACER_DIR="+dir, fmt.Sprintf("CLAIM_RACER_NAME=p%d", i))
		cmd.Stderr = os.Stderr
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
	for round := range *rounds {
		for _, w := range in { // all of them, before any answer is read
			_, err := fmt.Fprintf(w, "unit-%d\n", round)
			check(t, err)
		}
		winners := 0
		for i, r := range out {
			if !r.Scan() {
				t.Fatalf("round %d: process %d has ended", round, i)
			}
			if r.Text() == "won" {
				winners++
			}
		}
		if winners != 1 {
			t.Fatalf("round %d: %d winners", round, winners)
		}
	}
	t.Logf("%d rounds of %d processes, one winner each", *rounds, processes)
}
