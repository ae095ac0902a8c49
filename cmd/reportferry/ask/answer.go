package ask

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/disk"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/sinks"
)

// An answer is one report as the service sent it. It is kept as a file, so that nothing is shown of
// an attempt that breaks off half way.
type answer struct {
	dir    string // the session's spool folder
	path   string // a CSV file with a header; empty when the service answered 204
	header []string
	extra  []string // columns of the header that weren't asked for
	asked  []string // the dimensions that were asked for, by their slugs
}

// answerFormats maps each value of --output to the method that writes it.
var answerFormats = map[string]func(answer, context.Context, io.Writer) error{
	"csv":     answer.writeCSV,
	wire.Text: answer.writeTable,
	wire.JSON: answer.writeJSONLines,
	"parquet": answer.writeParquet,
}

// columns returns the header's columns, each with the type that it would have in a job's table.
func (a answer) columns() []table.Column {
	var columns []table.Column
	for _, name := range a.header {
		c := table.Column{Name: name, Source: name}
		if f, ok := catalog.Dimension(name); ok || slices.Contains(a.asked, name) {
			c.Type, c.Dimension = f.Type, true
		} else {
			c.Type = catalog.Double // the type of a metric that the catalogue doesn't know
			if f, known := metricField(strings.TrimSuffix(name, comparedSuffix)); known {
				c.Type = f.Type
			}
		}
		columns = append(columns, c)
	}
	return columns
}

// comparedSuffix ends the names of the columns that period_over_period adds.
const comparedSuffix = "_pop"

// metricField returns the catalogue's entry of a metric, or one that is guessed from its name.
func metricField(slug string) (catalog.Field, bool) {
	if f, known := catalog.Metric(slug); known {
		return f, true
	}
	return catalog.Guess(slug)
}

// writeCSV writes the answer as it came, or its header alone when it has no rows.
func (a answer) writeCSV(_ context.Context, w io.Writer) error {
	if a.path == "" {
		c := csv.NewWriter(w)
		_ = c.Write(a.header) // c.Error reports it
		c.Flush()
		return c.Error()
	}
	f, err := os.Open(a.path)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return errors.Join(err, f.Close())
}

// eachRow calls use for every row. The cells are valid until the next call.
func (a answer) eachRow(use func(cells []string) error) (err error) {
	if a.path == "" {
		return nil
	}
	f, err := os.Open(a.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := csv.NewReader(withoutMark(f))
	r.ReuseRecord = true
	if _, err := r.Read(); err != nil { // the header
		return err
	}
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := use(cells); err != nil {
			return err
		}
	}
}

// readHeader reads the first line of an answer.
func readHeader(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	header, err := csv.NewReader(withoutMark(f)).Read()
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("the answer has no header: %w", err)
	}
	return header, nil
}

// withoutMark returns a reader of f that skips a byte order mark at its start. The service has sent
// one with readable names. The CSV reader would take a quote after the mark for a quote inside a
// cell.
func withoutMark(f io.Reader) io.Reader {
	r := bufio.NewReader(f)
	if head, _ := r.Peek(len(byteOrderMark)); string(head) == byteOrderMark {
		_, _ = r.Discard(len(head)) // Peek has read them already
	}
	return r
}

// byteOrderMark is what some writers of UTF-8 put before the first character.
const byteOrderMark = "\ufeff"

// writeTable writes the answer in aligned columns. All of it is kept in memory, to know the widths.
func (a answer) writeTable(_ context.Context, w io.Writer) error {
	g := text.Grid{Heads: a.header}
	for _, c := range a.columns() {
		g.Right = append(g.Right, !c.Dimension)
	}
	err := a.eachRow(func(cells []string) error {
		g.Rows = append(g.Rows, append([]string{}, cells...))
		return nil
	})
	if err == nil {
		g.Write(w)
	}
	return err
}

// writeJSONLines writes one object for each row, with its keys in the header's order. Numbers keep
// their digits, which a float64 wouldn't.
func (a answer) writeJSONLines(_ context.Context, w io.Writer) error {
	columns := a.columns()
	return a.eachRow(func(cells []string) error {
		line := []byte{'{'}
		for i, c := range columns {
			if i > 0 {
				line = append(line, ',')
			}
			line = appendJSON(line, c.Name)
			line = append(line, ':')
			switch _, err := strconv.ParseFloat(cells[i], 64); {
			case !c.Dimension && cells[i] == "":
				line = append(line, "null"...)
			case !c.Dimension && err == nil && json.Valid([]byte(cells[i])):
				line = append(line, cells[i]...)
			default:
				line = appendJSON(line, cells[i])
			}
		}
		_, err := w.Write(append(line, "}\n"...))
		return err
	})
}

// appendJSON appends a text as a JSON string.
func appendJSON(b []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic("a text can be quoted: " + err.Error())
	}
	return append(b, quoted...)
}

// writeParquet converts the answer as a job would, with the types that a job's table would have.
func (a answer) writeParquet(ctx context.Context, w io.Writer) error {
	columns := slices.DeleteFunc(a.columns(), func(c table.Column) bool { return slices.Contains(a.extra, c.Source) })
	for i, c := range columns { // as a job's table names them
		columns[i].Name = catalog.ColumnName(c.Name)
	}
	conv, err := table.New(table.Options{
		Columns: columns, Route: table.NoRoute, Partitions: []civil.Date{sinks.Whole}, Dir: a.dir,
		Mending: table.Mending{UTF8: true},
	})
	if err != nil {
		return err
	}
	defer conv.Abort()
	if a.path != "" {
		f, err := os.Open(a.path)
		if err != nil {
			return err
		}
		if err := errors.Join(conv.Read(ctx, f), f.Close()); err != nil {
			return err
		}
	}
	parts, err := conv.Finish()
	if err != nil {
		return err
	}
	f, err := parts[0].Open()
	if err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return errors.Join(err, f.Close())
}

// writeTo writes the answer in a format, to the file path or, when that is empty, to w. A regular
// file is replaced whole or not at all; it keeps its mode, and a link to it stays a link. A pipe or
// a device is written to directly. The umask decides the mode of a new file.
func (a answer) writeTo(ctx context.Context, format, path string, w io.Writer) error {
	if path == "" {
		return answerFormats[format](a, ctx, w)
	}
	write := func() error { return a.writeFile(ctx, format, path, 0) }
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		write = func() error { return a.writeThrough(ctx, format, path) }
	} else if err == nil {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return err
		}
		write = func() error { return a.writeFile(ctx, format, path, info.Mode().Perm()) }
	}
	if err := write(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// writeFile replaces a regular file as a whole, by renaming. A mode of 0 leaves the mode to the
// umask.
func (a answer) writeFile(ctx context.Context, format, path string, mode os.FileMode) error {
	f, err := disk.CreateBeside(path)
	if err != nil {
		return err
	}
	if mode != 0 {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = answerFormats[format](a, ctx, f)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// writeThrough writes to what exists at path already, such as a pipe or a device.
func (a answer) writeThrough(ctx context.Context, format, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(answerFormats[format](a, ctx, f), f.Close())
}
