package blobsink

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reportferry/reportferry/sinks"
)

const writerDir = "BLOBSINK_TEST_WRITER_DIR"

// TestMain is also the writer that TestKilledWriter kills: it puts a part whose reading never ends.
func TestMain(m *testing.M) {
	dir := os.Getenv(writerDir)
	if dir == "" {
		os.Exit(m.Run())
	}
	s, err := Open(context.Background(), "file://"+dir)
	if err == nil {
		p := part("half of the new rows")
		p.Size = 1 << 20
		p.Open = func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader("half of the new rows"), stuck{})), nil
		}
		_, err = s.Put(context.Background(), p)
	}
	fmt.Fprintln(os.Stderr, "the writer ended by itself:", err)
	os.Exit(1)
}

// stuck tells the parent that the first bytes are written, and waits to be killed.
type stuck struct{}

func (stuck) Read([]byte) (int, error) {
	fmt.Println("written")
	time.Sleep(time.Minute)
	return 0, io.ErrUnexpectedEOF
}

// A killed writer leaves the old rows, and a temporary file that goes away when it is old.
func TestKilledWriter(t *testing.T) {
	dir := t.TempDir()
	url := "file://" + dir
	if _, err := mustOpen(t, url).Put(context.Background(), part("old rows")); err != nil {
		t.Fatal(err)
	}
	writer := exec.Command(os.Args[0])
	writer.Env = append(os.Environ(), writerDir+"="+dir)
	writer.Stderr = os.Stderr
	out, err := writer.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "written\n" {
		t.Fatalf("the writer says %q, %v", line, err)
	}
	if err := writer.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := writer.Wait(); err == nil {
		t.Fatal("the writer wasn't killed")
	}
	seen := readDir(dir)(t)
	if string(seen[partKey]) != "old rows" || len(seen) != 2 {
		t.Fatalf("after the kill: %q", seen)
	}
	delete(seen, partKey)
	left := slices.Collect(maps.Keys(seen))[0]
	if !strings.HasSuffix(left, ".tmp") {
		t.Fatalf("left: %s", left)
	}

	// A young file may belong to a living writer; one of another name is not ours, however old.
	young := filepath.Join(dir, "installs/dt=2026-01-30/part-0.parquet.18a1b2c3d4e5f607.tmp")
	foreign := filepath.Join(dir, "installs/dt=2026-01-30/notes.18a1b2c3d4e5f607.tmp")
	if err := os.Mkdir(filepath.Dir(young), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{young, foreign} {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-staleAge - time.Minute)
	for _, name := range []string{filepath.Join(dir, left), foreign} {
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := mustOpen(t, url).Put(context.Background(), part("new rows")); err != nil {
		t.Fatal(err)
	}
	seen = readDir(dir)(t)
	want := []string{"installs/dt=2026-01-30/notes.18a1b2c3d4e5f607.tmp",
		"installs/dt=2026-01-30/part-0.parquet.18a1b2c3d4e5f607.tmp", partKey}
	if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, want) || string(seen[partKey]) != "new rows" {
		t.Errorf("after the sweep: %q", seen)
	}
}

// Many sinks open on one directory, as many processes do: their sweeps meet files that come and go.
func TestSweepWhileOthersWrite(t *testing.T) {
	url := "file://" + t.TempDir()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 40 {
				s, err := Open(context.Background(), url)
				if err == nil {
					_, err = s.Put(context.Background(), part("rows"))
				}
				if err != nil && !errors.Is(err, sinks.ErrConflict) { // another was faster
					t.Error(err)
					return
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
