package bucket

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"

	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"
)

// A memoryBlob is a Memory with the methods of a gocloud driver (driver.Bucket).
type memoryBlob struct{ *Memory }

func (m memoryBlob) ErrorCode(err error) gcerrors.ErrorCode {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return gcerrors.NotFound
	case errors.Is(err, ErrConflict):
		return gcerrors.FailedPrecondition
	}
	return gcerrors.Unknown
}

func (m memoryBlob) As(any) bool             { return false }
func (m memoryBlob) ErrorAs(error, any) bool { return false }
func (m memoryBlob) Close() error            { return nil }

// get returns a stored object, or fs.ErrNotExist.
func (m memoryBlob) get(ctx context.Context, key string) (*memoryObject, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := m.objects[key]
	if o == nil {
		return nil, fs.ErrNotExist
	}
	return o, ctx.Err()
}

func (m memoryBlob) Attributes(ctx context.Context, key string) (*driver.Attributes, error) {
	o, err := m.get(ctx, key)
	if err != nil {
		return nil, err
	}
	return &driver.Attributes{
		ContentType: o.contentType, Metadata: maps.Clone(o.metadata), ModTime: o.Modified, Size: o.Size,
		ETag: `"` + o.Version + `"`,
	}, nil
}

func (m memoryBlob) ListPaged(ctx context.Context, o *driver.ListOptions) (*driver.ListPage, error) {
	if o.Delimiter != "" {
		return nil, errors.New("a store in memory has no folders to list")
	}
	a, err := m.Do(ctx, Call{Op: OpList, Key: o.Prefix})
	page := &driver.ListPage{}
	for _, o := range a.Objects {
		page.Objects = append(page.Objects, &driver.ListObject{Key: o.Key, ModTime: o.Modified, Size: o.Size})
	}
	return page, err
}

// A memoryReader reads a range of a stored object.
type memoryReader struct {
	*bytes.Reader
	o *memoryObject
}

func (memoryReader) Close() error { return nil }
func (memoryReader) As(any) bool  { return false }

func (r memoryReader) Attributes() *driver.ReaderAttributes {
	return &driver.ReaderAttributes{ContentType: r.o.contentType, ModTime: r.o.Modified, Size: r.o.Size}
}

func (m memoryBlob) NewRangeReader(ctx context.Context, key string, offset, length int64,
	_ *driver.ReaderOptions) (driver.Reader, error) {
	o, err := m.get(ctx, key)
	if err != nil {
		return nil, err
	}
	data := o.data[min(offset, o.Size):]
	if length >= 0 {
		data = data[:min(length, int64(len(data)))]
	}
	return memoryReader{bytes.NewReader(data), o}, nil
}

// A memoryWriter stores what was written when it is closed, unless its context has ended.
type memoryWriter struct {
	bytes.Buffer
	put func([]byte) error
}

func (w *memoryWriter) Close() error { return w.put(w.Bytes()) }

func (m memoryBlob) NewTypedWriter(ctx context.Context, key, contentType string,
	o *driver.WriterOptions) (driver.Writer, error) {
	return &memoryWriter{put: func(data []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if o.IfNotExist && m.objects[key] != nil {
			return ErrConflict
		}
		m.put(key, &memoryObject{data: bytes.Clone(data), contentType: contentType, metadata: maps.Clone(o.Metadata)},
			m.now())
		return nil
	}}, nil
}

func (m memoryBlob) Delete(ctx context.Context, key string) error {
	if _, err := m.get(ctx, key); err != nil {
		return err
	}
	_, err := m.Do(ctx, Call{Op: OpDelete, Keys: []string{key}})
	return err
}

func (m memoryBlob) Copy(context.Context, string, string, *driver.CopyOptions) error {
	return errors.New("nothing is copied")
}

func (m memoryBlob) SignedURL(context.Context, string, *driver.SignedURLOptions) (string, error) {
	return "", errors.New("nothing is signed")
}
