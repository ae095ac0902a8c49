package table

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
)

// HoldSmall is a Hold for which a day of a usual account makes no file: to make, read and remove
// one takes longer than to encode what is in it.
const HoldSmall = 64 << 10

// A spool is where a partition's file grows: in memory while it is small, and then on disk.
type spool struct {
	dir, pattern string
	hold         int // bytes
	held         []byte
	disk         *os.File // nil while it is held
}

// Write implements io.Writer.
func (s *spool) Write(b []byte) (int, error) {
	if s.disk == nil && len(s.held)+len(b) <= s.hold {
		s.held = append(s.held, b...)
		return len(b), nil
	}
	if s.disk == nil {
		if err := s.move(); err != nil {
			return 0, err
		}
	}
	return s.disk.Write(b)
}

// move moves what is held to the disk.
func (s *spool) move() (err error) {
	if s.disk, err = os.CreateTemp(s.dir, s.pattern); err != nil {
		return fmt.Errorf("create a spool file: %w", err)
	}
	_, err = s.disk.Write(s.held)
	s.held = nil
	return err
}

// end closes the file, and gives its path, or what is held.
func (s *spool) end() (path string, held []byte, err error) {
	if s.disk == nil {
		return "", slices.Clip(s.held), nil
	}
	return s.disk.Name(), nil, s.disk.Close()
}

// discard closes and removes the file, if there is one.
func (s *spool) discard() {
	if s.disk != nil {
		_ = s.disk.Close() // an error doesn't matter: the file is removed
		_ = os.Remove(s.disk.Name())
	}
}

// Open opens the part's file.
func (p Part) Open() (io.ReadCloser, error) {
	f, err := p.open()
	return f, err
}

// Remove removes the part's file. A leftover is the system's to remove.
func (p Part) Remove() {
	if p.held == nil {
		_ = os.Remove(p.Path)
	}
}

type readerAt interface {
	io.ReadCloser
	io.ReaderAt
}

func (p Part) open() (readerAt, error) {
	if p.held != nil {
		return heldFile{bytes.NewReader(p.held)}, nil
	}
	return os.Open(p.Path)
}

type heldFile struct{ *bytes.Reader }

func (heldFile) Close() error { return nil }
