package setup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A file that has appeared since the questions began stays as it is, unless it may be replaced.
// Nothing is left beside it.
func TestSave(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "reportferry.yml")
	for _, step := range []struct {
		text    string
		replace bool
		want    string
		refused error
	}{{"first", false, "first", nil}, {"second", false, "first", fs.ErrExist}, {"third", true, "third", nil}} {
		if err := save(path, []byte(step.text), step.replace); !errors.Is(err, step.refused) {
			t.Errorf("%s: %v, want %v", step.text, err, step.refused)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != step.want {
			t.Errorf("%s: %q, %v, want %q", step.text, got, err, step.want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v %v", left, err)
	}
}
