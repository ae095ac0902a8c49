package icesink

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"
	"time"

	icebergio "github.com/apache/iceberg-go/io"
)

// mostManifestBytes bounds the manifests that are kept in memory. Those of a table of ten years of
// days have about 2 MB.
const mostManifestBytes = 16 << 20

// A manifestCache keeps manifests that were read or written. A manifest never changes under its
// name, and a commit reads all manifests of the table. Without the cache, the hundredth commit of a
// load would fetch what the ninety-nine before it have written.
type manifestCache struct {
	mu    sync.Mutex
	files map[string][]byte
	size  int
}

// keep adds a manifest. When there are too many bytes, it first removes all others.
func (m *manifestCache) keep(name string, content []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.size += len(content); m.size > mostManifestBytes || m.files == nil {
		m.files, m.size = map[string][]byte{}, len(content)
	}
	m.files[name] = content
}

func (m *manifestCache) get(name string) ([]byte, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	content, kept := m.files[name]
	return content, kept
}

// A store is the store of a table's files, with a cache of manifests.
type store struct {
	icebergio.WriteFileIO
	cache *manifestCache
}

// isManifest reports whether a file is a manifest or a list of manifests, by its name.
func isManifest(name string) bool { return strings.HasSuffix(name, ".avro") }

// Open opens a file for reading. It reads a manifest from the cache, or puts it there.
func (s store) Open(name string) (icebergio.File, error) {
	if !isManifest(name) {
		return s.WriteFileIO.Open(name)
	}
	content, kept := s.cache.get(name)
	if !kept {
		file, err := s.WriteFileIO.Open(name)
		if err != nil {
			return nil, err
		}
		content, err = io.ReadAll(file)
		if closed := file.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: name, Err: err}
		}
		s.cache.keep(name, content)
	}
	return openManifest{bytes.NewReader(content), name}, nil
}

// Create begins a file. A manifest is put into the cache when it is closed.
func (s store) Create(name string) (icebergio.FileWriter, error) {
	w, err := s.WriteFileIO.Create(name)
	if err != nil || !isManifest(name) {
		return w, err
	}
	return &cachingWriter{FileWriter: w, name: name, cache: s.cache}, nil
}

// Remove deletes a file, if it exists. The library removes old metadata files of a table after a
// commit. Some catalogs do so, too, and the library would write to standard error about each file
// that is gone.
func (s store) Remove(name string) error {
	if err := s.WriteFileIO.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// DeleteFiles deletes many files, in one call where the store can do that.
func (s store) DeleteFiles(ctx context.Context, names []string) (deleted []string, err error) {
	if bulk, ok := s.WriteFileIO.(icebergio.BulkRemovableIO); ok {
		return bulk.DeleteFiles(ctx, names)
	}
	for _, name := range names {
		if err := s.Remove(name); err != nil {
			return deleted, err
		}
		deleted = append(deleted, name)
	}
	return deleted, nil
}

// A cachingWriter writes a manifest, and puts a copy into the cache when it is closed.
type cachingWriter struct {
	icebergio.FileWriter
	name  string
	cache *manifestCache
	buf   bytes.Buffer
}

func (c *cachingWriter) Write(b []byte) (int, error) {
	n, err := c.FileWriter.Write(b)
	c.buf.Write(b[:n])
	return n, err
}

func (c *cachingWriter) ReadFrom(r io.Reader) (int64, error) {
	return c.FileWriter.ReadFrom(io.TeeReader(r, &c.buf))
}

func (c *cachingWriter) Close() error {
	err := c.FileWriter.Close()
	if err == nil {
		c.cache.keep(c.name, c.buf.Bytes())
	}
	return err
}

// An openManifest is an open file of the store whose content, a manifest, is in memory.
type openManifest struct {
	*bytes.Reader
	name string
}

func (m openManifest) Close() error               { return nil }
func (m openManifest) Stat() (fs.FileInfo, error) { return m, nil }
func (m openManifest) Name() string               { return path.Base(m.name) }
func (m openManifest) Mode() fs.FileMode          { return 0o444 }
func (m openManifest) ModTime() time.Time         { return time.Time{} }
func (m openManifest) IsDir() bool                { return false }
func (m openManifest) Sys() any                   { return nil }
