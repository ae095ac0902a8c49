package outbox

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

// The records of a push are one object: a line that names the form, then its items by ID (with Order: by its first byte,
// then by row). All such objects together are
// the index of what was pushed; what became of an item is in the states of its push.
const magic = "reportferry outbox records 1\n"

// An indexWriter writes the records of a push.
type indexWriter struct {
	blob  *blob.Writer
	buf   *bufio.Writer
	sum   *xxhash.Digest
	abort context.CancelFunc
	count int64
	item  []byte
}

func (t *Table) writeIndex(ctx context.Context, p *push) (*indexWriter, error) {
	ctx, abort := context.WithCancel(ctx)
	w, err := t.folder.Writer(ctx, p.recordsKey())
	if err != nil {
		abort()
		return nil, err
	}
	x := &indexWriter{blob: w, sum: xxhash.New(), abort: abort}
	x.buf = bufio.NewWriterSize(io.MultiWriter(w, x.sum), 64<<10)
	_, err = x.buf.WriteString(magic)
	return x, err
}

func (x *indexWriter) add(it item) error {
	x.count++
	x.item = it.append(x.item[:0])
	_, err := x.buf.Write(x.item)
	return err
}

// commit makes the object visible, and notes in the head of its push what it holds.
func (x *indexWriter) commit(h *head) error {
	if err := x.buf.Flush(); err != nil {
		x.drop()
		return err
	}
	defer x.abort()
	if err := x.blob.Close(); err != nil {
		return err
	}
	h.Records, h.Sum = x.count, fmt.Sprintf("%016x", x.sum.Sum64())
	return nil
}

// drop leaves nothing behind.
func (x *indexWriter) drop() {
	x.abort()
	_ = x.blob.Close() // cancelled: it writes nothing
}

// An indexReader reads the records of another push, a bucket at a time, and knows what became of them.
type indexReader struct {
	push   *push
	folder *ledger.Folder
	blob   *blob.Reader
	buf    *bufio.Reader
	sum    *xxhash.Digest
	left   int64
	next   item
	more   bool
}

func (t *Table) openIndex(ctx context.Context, p *push) (*indexReader, error) {
	r, err := t.folder.Reader(ctx, p.recordsKey())
	if err != nil {
		return nil, err
	}
	x := &indexReader{push: p, folder: t.folder, blob: r, sum: xxhash.New(), left: p.head.Records}
	x.buf = bufio.NewReaderSize(io.TeeReader(r, x.sum), 64<<10)
	line := make([]byte, len(magic))
	if _, err := io.ReadFull(x.buf, line); err != nil || string(line) != magic {
		x.close()
		return nil, t.folder.Damaged(p.recordsKey(), fmt.Errorf("it begins with %q", line))
	}
	if err := x.advance(); err != nil {
		x.close()
		return nil, err
	}
	return x, nil
}

// advance reads the next item. After the last one it compares the checksum.
func (x *indexReader) advance() error {
	x.more = x.left > 0
	if !x.more {
		return x.check()
	}
	b, err := x.buf.Peek(itemSize)
	if errors.Is(err, io.EOF) {
		return x.folder.Damaged(x.push.recordsKey(), fmt.Errorf("%d of its %d records are missing", x.left, x.push.head.Records))
	}
	if err != nil {
		return fmt.Errorf("%w: read %s: %w", ledger.ErrBucket, x.folder.Location(x.push.recordsKey()), err)
	}
	x.next = parseItem(b)
	x.left--
	_, err = x.buf.Discard(itemSize)
	return err
}

func (x *indexReader) check() error {
	if _, err := x.buf.ReadByte(); !errors.Is(err, io.EOF) {
		return x.folder.Damaged(x.push.recordsKey(), fmt.Errorf("there is more than its %d records", x.push.head.Records))
	}
	if sum := fmt.Sprintf("%016x", x.sum.Sum64()); sum != x.push.head.Sum {
		return x.folder.Damaged(x.push.recordsKey(), fmt.Errorf("checksum is %s, its content gives %s", x.push.head.Sum, sum))
	}
	return nil
}

// join reads up to the end of a bucket, whose items are given by ID, and gives what became of those of the same IDs.
func (x *indexReader) join(bucket int, items []item, hit func(it item, s state)) error {
	for x.more && x.next.bucket() <= bucket {
		for len(items) > 0 && items[0].compareID(x.next) < 0 {
			items = items[1:]
		}
		if len(items) > 0 && items[0].compareID(x.next) == 0 {
			hit(x.next, x.push.fate(int64(x.next.row)))
		}
		if err := x.advance(); err != nil {
			return err
		}
	}
	return nil
}

// each reads up to the end of a bucket, and gives all of it. In a push with Order the items of a bucket are by row.
func (x *indexReader) each(bucket int, hit func(it item, s state)) error {
	for x.more && x.next.bucket() <= bucket {
		hit(x.next, x.push.fate(int64(x.next.row)))
		if err := x.advance(); err != nil {
			return err
		}
	}
	return nil
}

func (x *indexReader) close() { _ = x.blob.Close() }

// indexSize is how many bytes the records of a push are.
func indexSize(p *push) int64 { return int64(len(magic)) + p.head.Records*itemSize }
