package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/slow"
)

// masked sets the process's umask for the test.
func masked(t *testing.T, umask int) {
	t.Helper()
	before := syscall.Umask(umask)
	t.Cleanup(func() { syscall.Umask(before) })
}

// Every file of a local ledger has the mode that the umask leaves it, however it is written;
// rejects, which say whom records are of, are their owner's alone.
func TestTheUmaskDecidesModes(t *testing.T) {
	slow.Test(t)
	for _, c := range []struct {
		umask        int
		file, folder fs.FileMode
	}{{0o022, 0o644, 0o755}, {0o027, 0o640, 0o750}, {0o077, 0o600, 0o700}, {0o002, 0o664, 0o775}} {
		t.Run(fmt.Sprintf("%03o", c.umask), func(t *testing.T) {
			t.Chdir(t.TempDir())
			masked(t, c.umask)
			config := commandsConfig + strings.SplitAfterN(spendConfig, "jobs:\n", 2)[1] + "    max_rejects: 5\n"
			check(t, os.WriteFile("reportferry.yml", []byte(config), 0o600))
			folder := filepath.Join("in", time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly))
			check(t, os.MkdirAll(folder, 0o700))
			check(t, os.WriteFile(filepath.Join(folder, "a.csv"), []byte(spendFileOf(t, 1, 5, "x,USD,y,z")), 0o600))
			check(t, os.WriteFile("kept.csv", nil, 0o640))
			check(t, os.Chmod("kept.csv", 0o604))
			for i, args := range []string{
				"run --now", "report --dimensions day --metrics installs --out new.csv",
				"report --dimensions day --metrics installs --out kept.csv",
				"report --dimensions day --metrics installs --out new.parquet", "apps export --out private.csv",
			} {
				var out bytes.Buffer
				// The run leaves a row that isn't taken.
				if code := execute(t.Context(), strings.Fields(args), &out,
					&out); code != map[bool]int{true: 3}[i == 0] {
					t.Fatalf("%s: exit code %d: %s", args, code, &out)
				}
			}
			for name, want := range map[string]fs.FileMode{"new.csv": c.file, "new.parquet": c.file, "kept.csv": 0o604,
				"private.csv": 0o600} {
				info, err := os.Stat(name)
				check(t, err)
				if info.Mode() != want {
					t.Errorf("%s has mode %v, want %v", name, info.Mode(), want)
				}
			}
			seen := map[string]int{}
			for _, root := range []string{"ledger", "out", "rejects"} {
				check(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
					if err != nil {
						return err
					}
					info, err := d.Info()
					check(t, err)
					want := c.file
					if d.IsDir() {
						want = c.folder | fs.ModeDir
					} else if root == "rejects" {
						want = 0o600
					}
					if seen[root]++; info.Mode() != want {
						t.Errorf("%s has mode %v, want %v", path, info.Mode(), want)
					}
					return nil
				}))
			}
			if seen["ledger"] < 10 || seen["out"] < 10 || seen["rejects"] < 2 {
				t.Errorf("files and folders seen: %v", seen)
			}
		})
	}
}
