package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/cespare/xxhash/v2"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// Magic is the first line of the object with the records of a push. The line names the format; the
// items follow, sorted by ID, or, in a push with Order, by the ID's first byte and then by row. All
// such objects together are the index of what was pushed. The states of the items are with their
// push.
const Magic = "reportferry outbox records 1\n"

// An IndexWriter writes the object with the records of a push.
type IndexWriter struct {
	blob  *blob.Writer // nil after Commit
	buf   *bufio.Writer
	sum   *xxhash.Digest     // over all that is written
	abort context.CancelFunc // makes blob discard what was written
	count int64              // items so far
	item  []byte             // reused by Add
}

// WriteIndex begins to write the records of a push. Commit makes them visible; Drop discards them.
func (t *Table) WriteIndex(ctx context.Context, p *Push) (*IndexWriter, error) {
	ctx, abort := context.WithCancel(ctx)
	const buffer = 8 << 20 // the drivers' own buffers take 16 MiB (gcs) or several times 5 MiB (s3)
	w, err := t.ledger.Store().Blob().NewWriter(ctx, t.recordsKey(p),
		&blob.WriterOptions{BufferSize: buffer, MaxConcurrency: 1, ContentType: "application/octet-stream"})
	if err != nil {
		abort()
		return nil, fmt.Errorf("%w: write the records of %s: %w", ledger.ErrBucket, p.Head.Name, err)
	}
	x := &IndexWriter{blob: w, sum: xxhash.New(), abort: abort}
	x.buf = bufio.NewWriterSize(io.MultiWriter(w, x.sum), 64<<10)
	_, err = x.buf.WriteString(Magic)
	return x, err
}

// Add writes the next item. Items must come in the order of their buckets.
func (x *IndexWriter) Add(it Item) error {
	x.count++
	x.item = it.append(x.item[:0])
	_, err := x.buf.Write(x.item)
	return err
}

// Commit makes the object visible, and sets the number of records and the checksum in the push's
// head.
func (x *IndexWriter) Commit(h *Head) error {
	err := x.buf.Flush()
	if err == nil {
		err = x.blob.Close()
		x.blob = nil
	}
	if err != nil {
		return fmt.Errorf("%w: write the records of %s: %w", ledger.ErrBucket, h.Name, err)
	}
	h.Records, h.Sum = x.count, fmt.Sprintf("%016x", x.sum.Sum64())
	return nil
}

// Drop discards what wasn't committed.
func (x *IndexWriter) Drop() {
	x.abort()
	if x.blob != nil {
		_ = x.blob.Close() // cancelled: it writes nothing
	}
}

// An IndexReader reads the records of another push, one bucket at a time, together with their
// states.
type IndexReader struct {
	Push  *Push
	table *Table
	blob  *blob.Reader
	buf   *bufio.Reader
	sum   *xxhash.Digest
	left  int64 // items that follow next
	next  Item
	more  bool // there is a next item
}

// OpenIndex begins to read the records of a push, bucket by bucket. The caller closes it.
func (t *Table) OpenIndex(ctx context.Context, p *Push) (*IndexReader, error) {
	r, err := t.ledger.Store().Blob().NewReader(ctx, t.recordsKey(p), nil)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil, t.gone(t.recordsKey(p), p.Head.Name+" needs it")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: read the records of %s: %w", ledger.ErrBucket, p.Head.Name, err)
	}
	x := &IndexReader{Push: p, table: t, blob: r, sum: xxhash.New(), left: p.Head.Records}
	x.buf = bufio.NewReaderSize(io.TeeReader(r, x.sum), 64<<10)
	line := make([]byte, len(Magic))
	if _, err := io.ReadFull(x.buf, line); err != nil || string(line) != Magic {
		x.Close()
		return nil, t.damaged(t.recordsKey(p), fmt.Errorf("it begins with %q", line))
	}
	if err := x.advance(); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// advance reads the next item. After the last one it checks the checksum.
func (x *IndexReader) advance() error {
	x.more = x.left > 0
	if !x.more {
		return x.check()
	}
	b, err := x.buf.Peek(ItemSize)
	if errors.Is(err, io.EOF) {
		return x.damaged(fmt.Errorf("%d of its %d records are missing", x.left, x.Push.Head.Records))
	}
	if err != nil {
		return fmt.Errorf("%w: read the records of %s: %w", ledger.ErrBucket, x.Push.Head.Name, err)
	}
	x.next = parseItem(b)
	x.left--
	_, err = x.buf.Discard(ItemSize)
	return err
}

// damaged returns the error for an object that isn't as the push's head says.
func (x *IndexReader) damaged(why error) error {
	return x.table.damaged(x.table.recordsKey(x.Push), why)
}

// check returns an error unless the object ends here and has the checksum in the push's head.
func (x *IndexReader) check() error {
	if _, err := x.buf.ReadByte(); !errors.Is(err, io.EOF) {
		return x.damaged(fmt.Errorf("there is more than its %d records", x.Push.Head.Records))
	}
	if sum := fmt.Sprintf("%016x", x.sum.Sum64()); sum != x.Push.Head.Sum {
		return x.damaged(fmt.Errorf("checksum is %s, its content gives %s", x.Push.Head.Sum, sum))
	}
	return nil
}

// Each reads up to the end of a bucket, and calls hit with items and their states: with all of them
// if some is nil, otherwise with those that have the same ID as an item of some, which is sorted by
// ID. In a push with Order, the items of a bucket are sorted by row.
func (x *IndexReader) Each(bucket int, some []Item, hit func(it Item, s State)) error {
	for all := some == nil; x.more && x.next.bucket() <= bucket; {
		for len(some) > 0 && some[0].CompareID(x.next) < 0 {
			some = some[1:]
		}
		if all || len(some) > 0 && some[0].CompareID(x.next) == 0 {
			hit(x.next, x.Push.stateOf(int64(x.next.Row)))
		}
		if err := x.advance(); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the reading.
func (x *IndexReader) Close() { _ = x.blob.Close() }
