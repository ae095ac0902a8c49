package outbox

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/reportferry/reportferry/jobs/outbox/store"
)

// rejects is the rejects file while it is being written to a temporary file. For each record that
// isn't taken it has the cells of the original file, and RejectColumns. Rows ascend, except those
// that the service rejected, which are added when its answer comes. The file begins with a byte
// order mark, because Excel doesn't take it for UTF-8 otherwise.
type rejects struct {
	name      string                 // name of the file that is pushed
	header    func() []string        // names of that file's columns
	separator rune                   // between cells
	instead   func(Rejection) string // see Task.Instead
	file      *os.File
	csv       *csv.Writer // writes to file
	rows      int64       // how many were added, without the header
	columns   int         // how many the pushed file has
	cells     []string    // reused by add
}

// utf8Mark is the byte order mark, which shows that a text is in UTF-8.
const utf8Mark = "\ufeff"

// newRejects makes the temporary file; drop removes it.
func (w *attempt[V]) newRejects() (*rejects, error) {
	f, err := os.CreateTemp(w.outbox.options.SpoolDir, "outbox-*.rejects")
	if err != nil {
		return nil, fmt.Errorf("spool rejects: %w", err)
	}
	_ = os.Remove(f.Name()) // a process that is killed must not leave it behind: it says whom the records are of
	r := &rejects{name: w.task.Name, header: w.task.Source.Header, separator: w.task.Separator,
		instead: w.task.Instead, file: f, csv: csv.NewWriter(f)}
	r.csv.Comma = r.separator
	return r, nil
}

// add writes one row, and before the first one the header.
func (r *rejects) add(row int64, why Rejection, cells []string) error {
	if r.rows == 0 {
		header := r.header()
		r.columns = len(header)
		if _, err := r.file.WriteString(utf8Mark); err != nil {
			return fmt.Errorf("spool rejects: %w", err)
		}
		if err := r.write(append(slices.Clone(header), RejectColumns...)); err != nil {
			return err
		}
	}
	r.rows++
	r.cells = fit(r.cells[:0], cells, r.columns, r.separator)
	return r.write(append(r.cells, why.Field, why.Reason, r.instead(why), strconv.FormatInt(row, 10), r.name))
}

// write writes a line. It replaces the cells in place by their Guarded forms.
func (r *rejects) write(cells []string) error {
	for i, cell := range cells {
		cells[i] = Guarded(cell)
	}
	if err := r.csv.Write(cells); err != nil {
		return fmt.Errorf("spool rejects: %w", err)
	}
	return nil
}

// drop closes and removes the temporary file.
func (r *rejects) drop() {
	_ = r.file.Close()
	_ = os.Remove(r.file.Name())
}

// put publishes the file under key, whole or not at all. When nothing is rejected, it removes the
// file of an earlier run instead.
func (r *rejects) put(ctx context.Context, bucket *blob.Bucket, key string) (put bool, err error) {
	if r.rows == 0 {
		if err := bucket.Delete(ctx, key); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
			return false, fmt.Errorf("remove %s, for nothing is rejected any more: %w", key, err)
		}
		return false, nil
	}
	r.csv.Flush()
	if err := r.csv.Error(); err != nil {
		return false, fmt.Errorf("spool rejects: %w", err)
	}
	if _, err := r.file.Seek(0, io.SeekStart); err != nil {
		return false, fmt.Errorf("read spooled rejects: %w", err)
	}
	ctx, abort := context.WithCancel(ctx)
	defer abort()
	w, err := bucket.NewWriter(ctx, key, &blob.WriterOptions{ContentType: "text/csv", BeforeWrite: private})
	if err == nil {
		if _, err = io.Copy(w, r.file); err != nil {
			abort() // a writer that is closed after an error publishes what it has
		}
		err = errors.Join(err, w.Close())
	}
	if err != nil {
		return false, fmt.Errorf("write rejects to %s: %w", key, err)
	}
	return true, nil
}

// private lets only the owner read a rejects file in a folder, because its cells identify people.
// In an object store, the bucket's own rules must keep others out.
func private(as func(any) bool) error {
	var f *os.File
	if as(&f) {
		return f.Chmod(0o600)
	}
	return nil
}

// publish puts the rejects where the options say, and returns their key: empty when there are none.
func (w *attempt[V]) publish(ctx context.Context, r *rejects) (string, error) {
	if w.outbox.options.Rejects == nil {
		return "", nil
	}
	if err := May(ctx); err != nil {
		return "", err
	}
	put, err := r.put(ctx, w.outbox.options.Rejects, w.task.RejectsKey)
	if err != nil || !put {
		return "", err
	}
	return w.task.RejectsKey, nil
}

// addReject adds a record to the rejects if its state says that it isn't taken. words holds, by
// row, why the service rejected records.
func (w *attempt[V]) addReject(r *rejects, d delivery[V], words map[int64]store.Words) error {
	switch w.states.Get(d.row) &^ store.Doubt {
	case store.Refused:
		if d.refusal == nil {
			d.refusal = &Rejection{Reason: "refused by an earlier reading"}
		}
		return r.add(d.row, *d.refusal, d.cells)
	case store.Conflict:
		return r.add(d.row, w.task.Conflict, d.cells)
	case store.Rejected:
		return r.add(d.row, Rejection(words[d.row]), d.cells)
	}
	return nil
}

// publishUnsent publishes the rejects of a file when nothing of it is sent. To do so, it reads the
// file for the second time.
func (w *attempt[V]) publishUnsent(ctx context.Context) error {
	if w.outbox.options.Rejects == nil {
		return nil
	}
	r, err := w.newRejects()
	if err != nil {
		return err
	}
	defer r.drop()
	var words map[int64]store.Words
	if w.resumed != nil {
		words = w.resumed.Words
	}
	if err := w.reread(ctx, func(d delivery[V]) error { return w.addReject(r, d, words) }); err != nil {
		return err
	}
	w.report.Rejects, err = w.publish(ctx, r)
	return err
}
