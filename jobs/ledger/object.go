package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/reportferry/reportferry/internal/disk"
)

// An envelope is what every ledger object has: one line of JSON with a version and a checksum over the content. Because
// of the checksum, a damaged object is an error and is never taken for a missing one.
type envelope struct {
	Version int             `json:"v"`
	Sum     string          `json:"xxh64"`
	Content json.RawMessage `json:"content"`
}

const objectVersion = 1

func encodeObject(content any) ([]byte, error) {
	raw, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(envelope{objectVersion, checksum(raw), raw})
	return append(data, '\n'), err
}

func decodeObject(data string, content any) error {
	sum, text, plain := plainEnvelope(data)
	if !plain {
		var e envelope
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return err
		}
		if e.Version != objectVersion {
			return &versionError{e.Version, objectVersion}
		}
		sum, text = e.Sum, string(e.Content)
	}
	if is := fmt.Sprintf("%016x", xxhash.Sum64String(text)); is != sum {
		return fmt.Errorf("checksum is %s, its content gives %s", is, sum)
	}
	if entries, ok := content.(*[]Record); ok {
		if *entries, ok = decodeEntries(text); ok {
			return nil
		}
		*entries = nil
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	return dec.Decode(content)
}

// plainEnvelope reads an envelope that is written exactly as encodeObject writes it, without parsing the content, which
// may be large. It answers false for any other.
func plainEnvelope(data string) (sum, content string, plain bool) {
	text, ended := strings.CutSuffix(data, "}\n")
	text, begun := strings.CutPrefix(text, fmt.Sprintf(`{"v":%d,"xxh64":"`, objectVersion))
	sum, content, found := strings.Cut(text, `","content":`)
	return sum, content, ended && begun && found && !strings.ContainsAny(sum, `"\`)
}

func checksum(b []byte) string { return fmt.Sprintf("%016x", xxhash.Sum64(b)) }

// A versionError is an object of another version than this program reads.
type versionError struct{ version, reads int }

func (e *versionError) Error() string {
	return fmt.Sprintf("it is of version %d, and this program reads version %d", e.version, e.reads)
}

// A DamagedError is a ledger object that can't be trusted.
type DamagedError struct {
	Location string // where a person finds it
	Err      error
	Gone     string // the table's folder, when the object isn't there at all though others need it
	Cost     string // of deleting it; empty: what it recorded counts as missing and is fetched again
	Lacks    string // of what says only what was: what is lacking once it is deleted, because nothing is fetched again
}

func (e *DamagedError) Error() string {
	var newer *versionError
	if errors.As(e.Err, &newer) && newer.version > newer.reads {
		return fmt.Sprintf("ledger: %s was written by a newer version of reportferry: %v; use that one; delete nothing", e.Location, e.Err)
	}
	if e.Gone != "" {
		return fmt.Sprintf("ledger: %s is gone: %v; restore it from a copy, or delete all of %s: what was recorded there "+
			"then counts as missing and is fetched again", e.Location, e.Err, e.Gone)
	}
	if e.Cost != "" {
		return fmt.Sprintf("ledger: %s is damaged: %v; restore it from a copy; don't delete it: %s", e.Location, e.Err, e.Cost)
	}
	if e.Lacks != "" {
		return fmt.Sprintf("ledger: %s is damaged: %v; restore it from a copy, or, when there is none, delete it: %s",
			e.Location, e.Err, e.Lacks)
	}
	return fmt.Sprintf("ledger: %s is damaged: %v; inspect it (it is one line of JSON) and restore it from a copy, or "+
		"delete it: what it recorded then counts as missing and is fetched again", e.Location, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// read reads and checks one object. Its errors tell apart an object that isn't there (isNotFound), a damaged one
// (*DamagedError) and a store that doesn't answer (ErrBucket).
func (l *Ledger) read(ctx context.Context, key string, content any) error {
	data, err := l.get(ctx, key)
	if err != nil {
		return fmt.Errorf("%w: read %s: %w", ErrBucket, l.location(key), err)
	}
	if err := decodeObject(data, content); err != nil {
		return &DamagedError{Location: l.location(key), Err: err}
	}
	return nil
}

// lacksHistory is what is lacking without an object of a table's history.
const lacksHistory = "the history of the table then lacks what it held, and its partitions stay as they are"

// callTimeout bounds one call to the store, including the retries of its client. Some clients retry 503 for ever, and a
// connection can be silent for as long; the ledger's objects are small, so a minute is plenty.
const callTimeout = time.Minute

// bounded gives the context of one call, and a function that ends the call and says in its error that it took too long.
func bounded(ctx context.Context) (context.Context, func(error) error) {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	return call, func(err error) error {
		if err != nil && call.Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("the store gave no good answer within %v: %w", callTimeout, err)
		}
		cancel()
		return err
	}
}

// get reads an object into as much memory as it needs. The strings of what is read from it are parts of it.
func (l *Ledger) get(ctx context.Context, key string) (data string, err error) {
	ctx, done := bounded(ctx)
	defer func() { err = done(err) }()
	r, err := l.bucket.NewReader(ctx, key, nil)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var b strings.Builder
	b.Grow(int(max(0, r.Size())))
	some := make([]byte, min(max(r.Size(), 0), 32<<10)+bytes.MinRead)
	_, err = io.CopyBuffer(struct{ io.Writer }{&b}, struct{ io.Reader }{r}, some)
	return b.String(), err
}

// write replaces an object that only one process writes.
func (l *Ledger) write(ctx context.Context, key string, content any) error {
	data, err := encodeObject(content)
	if err == nil {
		err = l.put(ctx, key, data, &blob.WriterOptions{ContentType: "application/json"})
	}
	if err != nil {
		return fmt.Errorf("%w: write %s: %w", ErrBucket, l.location(key), err)
	}
	return nil
}

// writeBuffer is the memory that a client takes for one upload. Google's default is 16 MiB for each, which is far too
// much for records of a few hundred bytes; S3 accepts no less than 5 MiB.
const writeBuffer = 5 << 20

// put writes an object whole or not at all. It doesn't use the bucket's WriteAll, which closes its writer after an
// error and so publishes the half that was written; a writer whose context is cancelled publishes nothing.
func (l *Ledger) put(ctx context.Context, key string, data []byte, o *blob.WriterOptions) (err error) {
	ctx, done := bounded(ctx)
	defer func() { err = done(err) }()
	ctx, abort := context.WithCancel(ctx)
	defer abort()
	o.BufferSize = writeBuffer
	w, err := l.bucket.NewWriter(ctx, key, o)
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		abort()
		_ = w.Close() // err says why
		return err
	}
	return w.Close()
}

func isNotFound(err error) bool { return gcerrors.Code(err) == gcerrors.NotFound }

// A ledger on plain files can't use the file driver for two things. The driver's conditional create checks and then
// renames, so two writers can both win; and its listing fails when a file vanishes meanwhile, as temporary files of
// other processes do.

// createFile writes a file that must not exist yet. One of several writers wins, and the others get errExists.
func createFile(root *disk.Root, key string, data []byte) error {
	draft, err := root.Draft(key)
	if err != nil {
		return err
	}
	if _, err := draft.Write(data); err != nil {
		draft.Discard()
		return fmt.Errorf("write %s: %w", draft.Name(), err)
	}
	if err := draft.Create(); errors.Is(err, fs.ErrExist) {
		return errExists
	} else if err != nil {
		return err
	}
	return nil
}

// listFiles gives the keys of the files below a folder, ascending. A folder that doesn't exist has none.
func listFiles(dir, prefix string) ([]string, error) {
	var keys []string
	err := filepath.WalkDir(filepath.Join(dir, filepath.FromSlash(prefix)), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		keys = append(keys, filepath.ToSlash(rel))
		return err
	})
	slices.Sort(keys)
	return keys, err
}
