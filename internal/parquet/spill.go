package parquet

import (
	"bufio"
	"fmt"
	"io"
	"os"
)

// A spill is a pool's file for pages that memory has no room for, until their row group is written.
// A row group could be written early instead, but what is in it would then depend on who else needs
// memory.
type spill struct {
	dir  string
	file *os.File // nil before the first page
	size int64    // where the next page goes
	read []byte   // buffer of data
}

// leastSpilled is the number of bytes below which a group's pages aren't worth a write.
const leastSpilled = arenaBlock

// take moves a group's pages to the disk.
func (s *spill) take(g *Group) error {
	if g.pages.held < leastSpilled {
		return nil
	}
	if err := s.write(g); err != nil {
		return fmt.Errorf("write pages that memory has no room for: %w", err)
	}
	g.pages, g.spilled = arena{}, true
	return nil
}

func (s *spill) write(g *Group) (err error) {
	if s.file == nil {
		if s.file, err = os.CreateTemp(s.dir, "pages-*.tmp"); err != nil {
			return err
		}
	}
	out := bufio.NewWriterSize(io.NewOffsetWriter(s.file, s.size), arenaBlock)
	for _, pages := range g.sealed {
		for k := range pages {
			p := &pages[k]
			if p.data == nil {
				continue
			}
			if _, err := out.Write(p.data); err != nil {
				return err
			}
			p.data, p.at = nil, s.size
			s.size += int64(p.size)
		}
	}
	return out.Flush()
}

// data returns the bytes of a page, which it reads from the file if need be. They are valid until
// the next call.
func (s *spill) data(p page) ([]byte, error) {
	if p.data != nil {
		return p.data, nil
	}
	if cap(s.read) < p.size {
		s.read = make([]byte, p.size)
	}
	s.read = s.read[:p.size]
	if _, err := s.file.ReadAt(s.read, p.at); err != nil {
		return nil, fmt.Errorf("read a page that memory had no room for: %w", err)
	}
	return s.read, nil
}

// close removes the file.
func (s *spill) close() {
	if s.file != nil {
		_ = s.file.Close() // an error doesn't matter: the file is removed
		_ = os.Remove(s.file.Name())
		s.file, s.size = nil, 0
	}
}
