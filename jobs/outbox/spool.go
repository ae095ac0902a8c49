package outbox

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
)

// An item is what is kept of a record: 28 bytes outside of memory.
type item struct {
	hi, lo  uint64 // the ID
	content uint64
	row     uint32
}

const itemSize = 28

func newItem(id [16]byte, content uint64, row int64) item {
	return item{binary.BigEndian.Uint64(id[:]), binary.BigEndian.Uint64(id[8:]), content, uint32(row)}
}

func (it item) id() (id [16]byte) {
	binary.BigEndian.PutUint64(id[:], it.hi)
	binary.BigEndian.PutUint64(id[8:], it.lo)
	return id
}

func (it item) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, it.hi)
	b = binary.BigEndian.AppendUint64(b, it.lo)
	b = binary.BigEndian.AppendUint64(b, it.content)
	return binary.BigEndian.AppendUint32(b, it.row)
}

func parseItem(b []byte) item {
	return item{
		binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]),
		binary.BigEndian.Uint64(b[16:]), binary.BigEndian.Uint32(b[24:]),
	}
}

func (it item) compareID(o item) int {
	if c := cmp.Compare(it.hi, o.hi); c != 0 {
		return c
	}
	return cmp.Compare(it.lo, o.lo)
}

func (it item) compare(o item) int {
	if c := it.compareID(o); c != 0 {
		return c
	}
	return cmp.Compare(it.row, o.row)
}

func (it item) bucket() int { return int(it.hi >> 56) }

// buckets is how many there are: items are split by the first byte of the ID. One of fifty million rows takes 6 MB.
const buckets = 256

// A spool takes items in the order of rows and gives them by ID, a bucket at a time. Few of them stay in memory, many are
// in one file.
type spool struct {
	dir    string
	file   *os.File
	end    int64
	full   [buckets][]byte  // of chunk bytes at most
	chunks [buckets][]int64 // where the full ones went
	space  []item           // what load gave last
	buf    []byte
}

const chunk = 585 * itemSize // of a bucket: 16 kB

func (s *spool) add(it item) error {
	b := it.bucket()
	s.full[b] = it.append(s.full[b])
	if len(s.full[b]) < chunk {
		return nil
	}
	if s.file == nil {
		if err := s.create(); err != nil {
			return err
		}
	}
	if _, err := s.file.WriteAt(s.full[b], s.end); err != nil {
		return fmt.Errorf("spool records: %w; the folder is %s", err, s.dir)
	}
	s.chunks[b] = append(s.chunks[b], s.end)
	s.end += chunk
	s.full[b] = s.full[b][:0]
	return nil
}

func (s *spool) create() (err error) {
	if s.file, err = os.CreateTemp(s.dir, "outbox-*.spool"); err != nil {
		return fmt.Errorf("spool records: %w", err)
	}
	_ = os.Remove(s.file.Name()) // an open file needs no name; where it does, close removes it
	return nil
}

// load gives the items of a bucket by ID, then row. They are good until the next load.
func (s *spool) load(b int) ([]item, error) {
	s.space = slices.Grow(s.space[:0], len(s.chunks[b])*chunk/itemSize+len(s.full[b])/itemSize)
	if s.buf == nil {
		s.buf = make([]byte, chunk)
	}
	for _, at := range s.chunks[b] {
		if _, err := s.file.ReadAt(s.buf, at); err != nil {
			return nil, fmt.Errorf("read spooled records: %w", err)
		}
		s.parse(s.buf)
	}
	s.parse(s.full[b])
	slices.SortFunc(s.space, item.compare)
	return s.space, nil
}

// each gives the items of a bucket by row, without keeping them.
func (s *spool) each(b int, do func(item) error) error {
	if s.buf == nil {
		s.buf = make([]byte, chunk)
	}
	for i := 0; i <= len(s.chunks[b]); i++ {
		items := s.full[b]
		if i < len(s.chunks[b]) {
			items = s.buf
			if _, err := s.file.ReadAt(items, s.chunks[b][i]); err != nil {
				return fmt.Errorf("read spooled records: %w", err)
			}
		}
		for ; len(items) > 0; items = items[itemSize:] {
			if err := do(parseItem(items)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *spool) parse(b []byte) {
	for ; len(b) > 0; b = b[itemSize:] {
		s.space = append(s.space, parseItem(b))
	}
}

func (s *spool) close() {
	if s.file != nil {
		_ = s.file.Close() // nothing of it is needed any more
		_ = os.Remove(s.file.Name())
	}
}
