package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/slow"
)

// says runs a command and checks its exit code and what it says.
func (p *place) says(t *testing.T, code int, want string, args ...string) {
	t.Helper()
	out, got := p.here(args...)
	if got != code || !strings.Contains(unfolded(out), unfolded(want)) {
		t.Errorf("%q: exit code %d, want %d; says %q, want %q in it", args, got, code, out, want)
	}
}

// The same URL with another layout, or another endpoint, is another store: it is filled, and not
// called up to date.
func TestAnotherStoreIsFilled(t *testing.T) {
	s := startService(t, "--apps", "2", "--days", "30")
	p := newPlace(t, s, 5, 1, living)
	p.says(t, 0, "written 5", "run")
	p.edit(t, "file://"+p.dir+"/out", `"file://`+p.dir+`/out?key=v2/{table}/{date}.parquet"`)
	p.says(t, 0, "new sink", "plan")
	p.says(t, 0, "written 5", "run")
	if parts, err := filepath.Glob(filepath.Join(p.dir, "out/v2/installs/*.parquet")); err != nil || len(parts) != 5 {
		t.Errorf("the new layout has %d parts, want 5 (%v)", len(parts), err)
	}
	p.says(t, 0, "all is up to date", "run")
}

func TestOneStoreTwice(t *testing.T) {
	s := startService(t, "--apps", "2", "--days", "30")
	p := newPlace(t, s, 5, 1, living)
	p.edit(t, `file://`+p.dir+`/out`, `"file://`+p.dir+`/out", "file://`+p.dir+`/out/"`)
	p.says(t, 2, "are one place", "run")
	p.edit(t, `"file://`+p.dir+`/out/"`, `"file://./out"`)
	p.says(t, 2, "are one place", "run")
}

// Parts that somebody deleted, restored from a copy or replaced are found by the next run.
func TestPartsChangedOutside(t *testing.T) {
	slow.Test(t)
	s := startService(t, "--apps", "2", "--days", "30")
	p := newPlace(t, s, 5, 1, living)
	p.says(t, 0, "written 5", "run")
	names, err := filepath.Glob(filepath.Join(p.dir, "out/installs/*/*.parquet"))
	check(t, err)
	if len(names) != 5 {
		t.Fatalf("parts: %q", names)
	}
	other, err := os.ReadFile(names[2])
	check(t, err)
	check(t, os.Remove(names[0]))
	check(t, os.WriteFile(names[1], other, 0o600))
	p.says(t, 0, "changed outside", "plan")
	p.says(t, 0, "written 2", "run")
	p.says(t, 0, "as recorded", "check")

	check(t, os.WriteFile(names[0], []byte("my own numbers"), 0o600))
	p.says(t, 1, "an object is there that reportferry didn't write", "run")
	if own, err := os.ReadFile(names[0]); err != nil || string(own) != "my own numbers" {
		t.Errorf("what somebody put there is %q, %v", own, err)
	}
	before, err := os.ReadFile(names[3])
	check(t, err)
	p.says(t, 0, "written 5", "run", "--force")
	// Each fetch makes another file of the same rows, so that a sum over its bytes, which S3's ETag
	// is, never comes back.
	if after, err := os.ReadFile(names[3]); err != nil || string(after) == string(before) ||
		withoutFetch(after) != withoutFetch(before) {
		t.Errorf("the same rows again, %d bytes and %d before (%v)", len(after), len(before), err)
	}
	p.says(t, 0, "all is up to date", "run")
}
