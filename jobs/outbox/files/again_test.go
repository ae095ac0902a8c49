package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/reportferry/reportferry/jobs/outbox"
)

// A rejects file is read as the file that its rows come from: without what was added, by whoever
// moved it, and with the cells that were marked.
func TestReadAgain(t *testing.T) {
	added := strings.Join(outbox.RejectColumns, ",")
	for _, c := range []struct{ text, names, want string }{
		{"a,b," + added + "\n'-x,1,f,why,this,3,file.csv\n", "a b", "-x 1"},
		{added + ",b,a\nf,why,this,3,file.csv,1,''q\n", "b a", "'q 1"},
		{"a,b,rejected_field\n'-x,1,f\n", "a b rejected_field", "'-x 1"}, // a file of someone else's
		{"a,b," + added + "\nx,1\n", "a b", "has 2 cells, the names are 7"},
		{"line," + added + "\n" + `"{""b"":1,""a"":""x""}",,why,this,1,f` + "\n", "line", "x 1"},
		{"line," + added + "\n" + `"{""b"":1,""c"":""x""}",,why,this,1,f` + "\n", "line",
			"has a key that no field is taken from, and that isn't among those to ignore"},
		{"line," + added + "\n,,why,this,1,f\n", "line", "isn't a JSON object"},
	} {
		m := Mapping{Fields: []Field{{Name: "a"}, {Name: "b"}}, Strict: true, Ignore: []string{"rejected_field"}}
		var names []string
		var got string
		err := Read(context.Background(), strings.NewReader(c.text), m, t.TempDir(),
			func(n []string, _ Understanding) { names = slices.Clone(n) }, func(r *Row) error {
				if got = strings.Join(r.Values, " "); r.Refused != nil {
					got = r.Refused.Error()
				} else if names[0] == "a" && !slices.Equal(r.Cells(), r.Values) && len(names) == 2 {
					return fmt.Errorf("the cells are %q", r.Cells())
				}
				return nil
			})
		if err != nil || strings.Join(names, " ") != c.names || got != c.want {
			t.Errorf("%q: %q, %q, %v; want %q, %q", c.text, names, got, err, c.names, c.want)
		}
	}
}

// A file that can't be cut into rows is at fault itself; a store that fails, or a disk without
// room, is not.
func TestBlame(t *testing.T) {
	reset := errors.New("connection reset")
	for _, c := range []struct {
		in    io.Reader
		dir   string
		unfit bool
	}{
		{strings.NewReader("c,d\n1,2\n"), "", true}, {strings.NewReader(""), "", true},
		{strings.NewReader("PAR1 and no more"), t.TempDir(), true},
		{iotest.ErrReader(reset), "", false}, {io.MultiReader(strings.NewReader("a,b\n1,"), iotest.ErrReader(reset)),
			"", false},
		{strings.NewReader("PAR1 and no more"), filepath.Join(t.TempDir(), "gone"), false},
	} {
		w := &watchedReader{Reader: c.in}
		err := Read(t.Context(), w, Mapping{Fields: []Field{{Name: "a"}}}, c.dir, func([]string, Understanding) {},
			func(*Row) error { return nil })
		var unfit *outbox.UnfitError
		if err == nil || errors.As(w.blame(err), &unfit) != c.unfit {
			t.Errorf("%v, of the file: %v", err, !c.unfit)
		}
	}
}
