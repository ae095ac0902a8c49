package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/cespare/xxhash/v2"
	"gocloud.dev/blob"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// Magic is the first line of the records of a push, which are one object: a line that names the form, then its items by ID (with Order: by its first byte,
// then by row). All such objects together are
// the index of what was pushed; what became of an item is in the states of its push.
const Magic = "reportferry outbox records 1\n"

// An IndexWriter writes the records of a push.
type IndexWriter struct {
	blob  *blob.Writer
	buf   *bufio.Writer
	sum   *xxhash.Digest
	abort context.CancelFunc
	count int64
	item  []byte
}

// WriteIndex begins to write the records of a push. Commit makes them visible, Drop leaves nothing.
func (t *Table) WriteIndex(ctx context.Context, p *Push) (*IndexWriter, error) {
	ctx, abort := context.WithCancel(ctx)
	w, err := t.Folder.Writer(ctx, p.RecordsKey())
	if err != nil {
		abort()
		return nil, err
	}
	x := &IndexWriter{blob: w, sum: xxhash.New(), abort: abort}
	x.buf = bufio.NewWriterSize(io.MultiWriter(w, x.sum), 64<<10)
	_, err = x.buf.WriteString(Magic)
	return x, err
}

// Add writes the next item; items come by bucket.
func (x *IndexWriter) Add(it Item) error {
	x.count++
	x.item = it.append(x.item[:0])
	_, err := x.buf.Write(x.item)
	return err
}

// Commit makes the object visible, and notes in the head of its push what it holds.
func (x *IndexWriter) Commit(h *Head) error {
	if err := x.buf.Flush(); err != nil {
		x.Drop()
		return err
	}
	defer x.abort()
	if err := x.blob.Close(); err != nil {
		return err
	}
	h.Records, h.Sum = x.count, fmt.Sprintf("%016x", x.sum.Sum64())
	return nil
}

// Drop leaves nothing behind.
func (x *IndexWriter) Drop() {
	x.abort()
	_ = x.blob.Close() // cancelled: it writes nothing
}

// An IndexReader reads the records of another push, a bucket at a time, and knows what became of them.
type IndexReader struct {
	Push   *Push
	folder *ledger.Folder
	blob   *blob.Reader
	buf    *bufio.Reader
	sum    *xxhash.Digest
	left   int64
	next   Item
	more   bool
}

// OpenIndex begins to read the records of a push, bucket by bucket. The caller closes it.
func (t *Table) OpenIndex(ctx context.Context, p *Push) (*IndexReader, error) {
	r, err := t.Folder.Reader(ctx, p.RecordsKey())
	if err != nil {
		return nil, err
	}
	x := &IndexReader{Push: p, folder: t.Folder, blob: r, sum: xxhash.New(), left: p.Head.Records}
	x.buf = bufio.NewReaderSize(io.TeeReader(r, x.sum), 64<<10)
	line := make([]byte, len(Magic))
	if _, err := io.ReadFull(x.buf, line); err != nil || string(line) != Magic {
		x.Close()
		return nil, t.Folder.Damaged(p.RecordsKey(), fmt.Errorf("it begins with %q", line))
	}
	if err := x.advance(); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// advance reads the next item. After the last one it compares the checksum.
func (x *IndexReader) advance() error {
	x.more = x.left > 0
	if !x.more {
		return x.check()
	}
	b, err := x.buf.Peek(ItemSize)
	if errors.Is(err, io.EOF) {
		return x.folder.Damaged(x.Push.RecordsKey(), fmt.Errorf("%d of its %d records are missing", x.left, x.Push.Head.Records))
	}
	if err != nil {
		return fmt.Errorf("%w: read %s: %w", ledger.ErrBucket, x.folder.Location(x.Push.RecordsKey()), err)
	}
	x.next = parseItem(b)
	x.left--
	_, err = x.buf.Discard(ItemSize)
	return err
}

func (x *IndexReader) check() error {
	if _, err := x.buf.ReadByte(); !errors.Is(err, io.EOF) {
		return x.folder.Damaged(x.Push.RecordsKey(), fmt.Errorf("there is more than its %d records", x.Push.Head.Records))
	}
	if sum := fmt.Sprintf("%016x", x.sum.Sum64()); sum != x.Push.Head.Sum {
		return x.folder.Damaged(x.Push.RecordsKey(), fmt.Errorf("checksum is %s, its content gives %s", x.Push.Head.Sum, sum))
	}
	return nil
}

// Join reads up to the end of a bucket, whose items are given by ID, and gives what became of those of the same IDs.
func (x *IndexReader) Join(bucket int, items []Item, hit func(it Item, s State)) error {
	for x.more && x.next.bucket() <= bucket {
		for len(items) > 0 && items[0].CompareID(x.next) < 0 {
			items = items[1:]
		}
		if len(items) > 0 && items[0].CompareID(x.next) == 0 {
			hit(x.next, x.Push.fate(int64(x.next.Row)))
		}
		if err := x.advance(); err != nil {
			return err
		}
	}
	return nil
}

// Each reads up to the end of a bucket, and gives all of it. In a push with Order the items of a bucket are by row.
func (x *IndexReader) Each(bucket int, hit func(it Item, s State)) error {
	for x.more && x.next.bucket() <= bucket {
		hit(x.next, x.Push.fate(int64(x.next.Row)))
		if err := x.advance(); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the reading.
func (x *IndexReader) Close() { _ = x.blob.Close() }

// IndexSize is how many bytes the records of a push are.
func IndexSize(p *Push) int64 { return int64(len(Magic)) + p.Head.Records*ItemSize }
