package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/reportferry/reportferry/internal/bucket"
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
	Gone     string // of an object that isn't there at all: what names it
	Cost     string // of deleting it; empty: what it recorded counts as missing and is fetched again
	Lacks    string // of what says only what was: what is lacking once it is deleted, because nothing is fetched again
}

func (e *DamagedError) Error() string {
	var newer *versionError
	if errors.As(e.Err, &newer) && newer.version > newer.reads {
		return fmt.Sprintf("ledger: %s was written by a newer version of reportferry: %v; use that one; delete nothing", e.Location, e.Err)
	}
	if e.Gone != "" {
		return fmt.Sprintf("ledger: %s is gone: %v; restore it from a copy, or delete %s too: what was recorded there "+
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
		return fmt.Errorf("%w: %w", ErrBucket, err)
	}
	if err := decodeObject(data, content); err != nil {
		return &DamagedError{Location: l.location(key), Err: err}
	}
	return nil
}

// lacksHistory is what is lacking without an object of a table's history.
const lacksHistory = "the history of the table then lacks what it held, and its partitions stay as they are"

// get reads an object. The strings of what is read from it are parts of it.
func (l *Ledger) get(ctx context.Context, key string) (data string, err error) {
	raw, _, err := l.store.Get(ctx, key)
	return string(raw), err
}

// write replaces an object that only one process writes.
func (l *Ledger) write(ctx context.Context, key string, content any) error {
	data, err := encodeObject(content)
	if err == nil {
		_, err = l.store.Put(ctx, key, data, bucket.Condition{})
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBucket, err)
	}
	return nil
}

func isNotFound(err error) bool { return errors.Is(err, fs.ErrNotExist) }
