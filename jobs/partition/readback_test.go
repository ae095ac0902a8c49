package partition

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks"
)

// A reader gives back the same content of every partition.
type reader struct {
	sinks.Reader
	content []byte
}

func (r reader) Read(context.Context, string, civil.Date) (io.ReadCloser, error) {
	if r.content == nil {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(r.content)), nil
}

// What a sink gives back is used only when it is what the ledger records.
func TestReadBack(t *testing.T) {
	day := date("2026-01-02")
	columns := []table.Column{{Name: "day", Source: "day", Type: catalog.Day, Dimension: true},
		{Name: "installs", Source: "installs", Type: catalog.Int64}}
	c, err := table.New(table.Options{Columns: columns, Partitions: []civil.Date{day}, Dir: t.TempDir(), Codec: "none"})
	check(t, err)
	defer c.Abort()
	check(t, c.Rows(t.Context(), [][]any{{day, int64(1)}, {day, int64(2)}}))
	parts, err := c.Finish()
	check(t, err)
	part, err := parts[0].Open()
	check(t, err)
	content, err := io.ReadAll(part)
	check(t, errors.Join(err, part.Close()))
	shape := ledger.Shape{Columns: []ledger.Column{{Name: "day", Type: "day"}, {Name: "installs", Type: "int64"}}}
	other := ledger.Shape{Columns: []ledger.Column{{Name: "day", Type: "day"}, {Name: "clicks", Type: "int64"}}}
	for _, x := range []struct {
		name    string
		content []byte
		rows    int64
		hash    string
		shape   ledger.Shape
		want    string
	}{
		{"as recorded", content, 2, parts[0].Hash, shape, ""},
		{"gone", nil, 2, parts[0].Hash, shape, "is missing"},
		{"cut short", content[:len(content)-1], 2, parts[0].Hash, shape, "can't be read as a part: "},
		{"of other columns", content, 2, parts[0].Hash, other, "can't be read as a part: "},
		{"more rows", content, 1, parts[0].Hash, shape, "holds 2 rows, the ledger says 1"},
		{"other rows", content, 2, "another", shape, "holds 2 rows whose content hash isn't the recorded one"},
	} {
		t.Run(x.name, func(t *testing.T) {
			dir := t.TempDir()
			used := false
			err := ReadBack(t.Context(), reader{content: x.content}, dir, "t",
				ledger.Record{Partition: day, Rows: x.rows, Hash: x.hash}, x.shape, func(io.ReaderAt, int64) error {
					used = true
					return nil
				})
			var differs *NotAsRecorded
			if errors.As(err, &differs) != (x.want != "") || used != (x.want == "") || differs != nil &&
				!strings.HasPrefix(differs.Why, x.want) {
				t.Errorf("it is used: %t, error %v; want %q", used, err, x.want)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left in the spool folder: %v, %v", left, err)
			}
		})
	}
}
