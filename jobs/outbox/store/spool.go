package store

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
)

// An Item is what is kept of a record: 28 bytes on disk or in the ledger.
type Item struct {
	hi, lo  uint64 // the ID
	Content uint64
	Row     uint32
}

// ItemSize is the size of an item in bytes, as append writes it and parseItem reads it.
const ItemSize = 28

// NewItem returns the item of a record.
func NewItem(id [16]byte, content uint64, row int64) Item {
	return Item{binary.BigEndian.Uint64(id[:]), binary.BigEndian.Uint64(id[8:]), content, uint32(row)}
}

// ID returns the record's ID.
func (it Item) ID() (id [16]byte) {
	binary.BigEndian.PutUint64(id[:], it.hi)
	binary.BigEndian.PutUint64(id[8:], it.lo)
	return id
}

// append appends the item to b, in ItemSize bytes; parseItem reads it again.
func (it Item) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, it.hi)
	b = binary.BigEndian.AppendUint64(b, it.lo)
	b = binary.BigEndian.AppendUint64(b, it.Content)
	return binary.BigEndian.AppendUint32(b, it.Row)
}

func parseItem(b []byte) Item {
	return Item{
		binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]),
		binary.BigEndian.Uint64(b[16:]), binary.BigEndian.Uint32(b[24:]),
	}
}

// CompareID compares items by ID.
func (it Item) CompareID(o Item) int {
	if c := cmp.Compare(it.hi, o.hi); c != 0 {
		return c
	}
	return cmp.Compare(it.lo, o.lo)
}

// compare compares items by ID, then by row.
func (it Item) compare(o Item) int {
	if c := it.CompareID(o); c != 0 {
		return c
	}
	return cmp.Compare(it.Row, o.Row)
}

// bucket returns the item's bucket, which is the first byte of its ID.
func (it Item) bucket() int { return int(it.hi >> 56) }

// Buckets is the number of buckets: items are split by the first byte of the ID. A bucket takes 6
// MB for a file of fifty million rows.
const Buckets = 256

// A Spool takes items in the order of rows, and returns them by ID, one bucket at a time. A few
// items stay in memory; many go to one file.
type Spool struct {
	Dir       string // where the file is made
	file      *os.File
	End       int64            // length of the file in bytes
	unwritten [Buckets][]byte  // by bucket: items not yet in the file, at most chunk bytes
	chunks    [Buckets][]int64 // by bucket: offsets of its chunks in the file
	loaded    []Item           // the items that Load returned last
	buf       []byte           // a chunk that was read; reused
}

// chunk is how many bytes a bucket writes at once: 16 kB.
const chunk = 585 * ItemSize

// Add takes the next item, in the order of rows.
func (s *Spool) Add(it Item) error {
	b := it.bucket()
	s.unwritten[b] = it.append(s.unwritten[b])
	if len(s.unwritten[b]) < chunk {
		return nil
	}
	if s.file == nil {
		if err := s.create(); err != nil {
			return err
		}
	}
	if _, err := s.file.WriteAt(s.unwritten[b], s.End); err != nil {
		return fmt.Errorf("spool records: %w; the folder is %s", err, s.Dir)
	}
	s.chunks[b] = append(s.chunks[b], s.End)
	s.End += chunk
	s.unwritten[b] = s.unwritten[b][:0]
	return nil
}

// create makes the file.
func (s *Spool) create() (err error) {
	if s.file, err = os.CreateTemp(s.Dir, "outbox-*.spool"); err != nil {
		return fmt.Errorf("spool records: %w", err)
	}
	_ = os.Remove(s.file.Name()) // an open file needs no name; where it does, Close removes it
	return nil
}

// Load returns the items of a bucket, sorted by ID, then by row. They are valid until the next
// Load.
func (s *Spool) Load(b int) ([]Item, error) {
	s.loaded = slices.Grow(s.loaded[:0], len(s.chunks[b])*chunk/ItemSize+len(s.unwritten[b])/ItemSize)
	if s.buf == nil {
		s.buf = make([]byte, chunk)
	}
	for _, at := range s.chunks[b] {
		if _, err := s.file.ReadAt(s.buf, at); err != nil {
			return nil, fmt.Errorf("read spooled records: %w", err)
		}
		s.parse(s.buf)
	}
	s.parse(s.unwritten[b])
	slices.SortFunc(s.loaded, Item.compare)
	return s.loaded, nil
}

// Each calls do with the items of a bucket by row, without keeping them.
func (s *Spool) Each(b int, do func(Item) error) error {
	if s.buf == nil {
		s.buf = make([]byte, chunk)
	}
	for i := 0; i <= len(s.chunks[b]); i++ {
		items := s.unwritten[b]
		if i < len(s.chunks[b]) {
			items = s.buf
			if _, err := s.file.ReadAt(items, s.chunks[b][i]); err != nil {
				return fmt.Errorf("read spooled records: %w", err)
			}
		}
		for ; len(items) > 0; items = items[ItemSize:] {
			if err := do(parseItem(items)); err != nil {
				return err
			}
		}
	}
	return nil
}

// parse appends the items in b to loaded.
func (s *Spool) parse(b []byte) {
	for ; len(b) > 0; b = b[ItemSize:] {
		s.loaded = append(s.loaded, parseItem(b))
	}
}

// Close removes the file.
func (s *Spool) Close() {
	if s.file != nil {
		_ = s.file.Close() // nothing of it is needed any more
		_ = os.Remove(s.file.Name())
	}
}
