package table

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
)

// HoldSmall is a value of Options.Hold that keeps a day of a usual account in memory. To create,
// read and remove a file for it would take longer than to encode the content.
const HoldSmall = 64 << 10

// A spool is where a partition's file grows: in memory while it is small, and then on disk.
type spool struct {
	dir, pattern string   // of the file's name, as os.CreateTemp has them
	hold         int      // the most bytes that are kept in memory
	held         []byte   // what is in memory
	disk         *os.File // nil while the file is in memory
}

// Write implements io.Writer.
func (s *spool) Write(b []byte) (int, error) {
	if s.disk == nil && len(s.held)+len(b) <= s.hold {
		s.held = append(s.held, b...)
		return len(b), nil
	}
	if s.disk == nil {
		if err := s.moveToDisk(); err != nil {
			return 0, err
		}
	}
	return s.disk.Write(b)
}

// moveToDisk moves what is held in memory to a file.
func (s *spool) moveToDisk() (err error) {
	if s.disk, err = os.CreateTemp(s.dir, s.pattern); err != nil {
		return fmt.Errorf("create a spool file: %w", err)
	}
	_, err = s.disk.Write(s.held)
	s.held = nil
	return err
}

// end closes the file. It returns the file's path, or its content if it is in memory.
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

// Open opens the part's file, on disk or in memory.
func (p Part) Open() (io.ReadCloser, error) {
	f, err := p.open()
	return f, err
}

// Remove removes the part's file. It ignores errors: the system cleans its temporary files.
func (p Part) Remove() {
	if p.held == nil {
		_ = os.Remove(p.Path)
	}
}

// A readerAt is a part's file, open for reading.
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

// A heldFile reads a file that is in memory.
type heldFile struct{ *bytes.Reader }

func (heldFile) Close() error { return nil }
