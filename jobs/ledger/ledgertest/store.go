// Package ledgertest has the object store that tests of the ledger, and of what is built on it,
// use. Without it, no test could count the calls that a plan takes, or act between two calls of a
// process.
package ledgertest

import (
	"context"
	"errors"
	"sync/atomic"

	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"

	"github.com/reportferry/reportferry/internal/bucket"
)

// A Store is an object store in memory. A test can wait or act before each call reaches it.
type Store struct {
	Memory *bucket.Memory
	Calls  atomic.Int64
	// Before, unless nil, runs before each call, which is attributes, list, read, write, create or
	// delete.
	Before   func(call, key string)
	Dead     atomic.Bool                       // no write arrives any more, as if the writing process was killed
	Keeps    bool                              // refuses to delete, as stores with a retention policy do
	Careless bool                              // a create replaces an existing object, as in some stores
	Answer   func(key string, err error) error // replaces the error that a write returns; nil: keeps it
}

// call counts a call and runs Before.
func (d link) call(name, key string) {
	d.Calls.Add(1)
	if d.Before != nil {
		d.Before(name, key)
	}
}

// Open returns the store as a bucket. Each process of a test opens its own.
func (s *Store) Open() *bucket.Bucket { return bucket.New("mem://ledger", link{s}) }

// Delete deletes an object directly, without Before and the other settings.
func (s *Store) Delete(ctx context.Context, key string) error {
	return s.Memory.Open().Delete(ctx, key)
}

var (
	errKilled = errors.New("the process was killed")
	errKept   = errors.New("nothing may be deleted here")
)

// A link is the driver of the bucket.
type link struct{ *Store }

// Blob returns the same store as a bucket of gocloud.
func (d link) Blob() *blob.Bucket { return blob.NewBucket(blobLink{d}) }

// A blobLink is the driver of the gocloud bucket.
type blobLink struct{ link }

// Close makes it a driver.Bucket.
func (blobLink) Close() error { return nil }

var callNames = map[bucket.Op]string{bucket.OpGet: "read", bucket.OpPut: "write", bucket.OpList: "list",
	bucket.OpDelete: "delete"}

// Do makes it a bucket.Driver.
func (d link) Do(ctx context.Context, c bucket.Call) (bucket.Answer, error) {
	key, name, writes := c.Key, callNames[c.Op], c.Op == bucket.OpPut || c.Op == bucket.OpDelete
	if c.Op == bucket.OpDelete && len(c.Keys) > 0 {
		key = c.Keys[0]
	}
	if c.On.Absent {
		name = "create"
	}
	if writes && d.Dead.Load() {
		return bucket.Answer{}, errKilled
	}
	d.call(name, key)
	switch {
	case writes && d.Dead.Load():
		return bucket.Answer{}, errKilled
	case c.Op == bucket.OpDelete && d.Keeps:
		return bucket.Answer{}, errKept
	case c.Op == bucket.OpPut && d.Careless:
		c.On = bucket.Condition{}
	}
	a, err := d.Memory.Do(ctx, c)
	if c.Op == bucket.OpPut && d.Answer != nil {
		err = d.Answer(key, err)
	}
	return a, err
}

func (d blobLink) ErrorCode(err error) gcerrors.ErrorCode { return gcerrors.Code(err) }
func (d blobLink) As(any) bool                            { return false }
func (d blobLink) ErrorAs(error, any) bool                { return false }

func (d blobLink) Attributes(ctx context.Context, key string) (*driver.Attributes, error) {
	d.call("attributes", key)
	a, err := d.Memory.Blob().Attributes(ctx, key)
	if err != nil {
		return nil, err
	}
	return &driver.Attributes{ModTime: a.ModTime, Size: a.Size}, nil
}

func (d blobLink) ListPaged(ctx context.Context, o *driver.ListOptions) (*driver.ListPage, error) {
	d.call("list", o.Prefix)
	token := o.PageToken
	if len(token) == 0 {
		token = blob.FirstPageToken
	}
	objects, next, err := d.Memory.Blob().ListPage(ctx, token, 1000, &blob.ListOptions{Prefix: o.Prefix})
	page := &driver.ListPage{NextPageToken: next}
	for _, o := range objects {
		page.Objects = append(page.Objects, &driver.ListObject{Key: o.Key, ModTime: o.ModTime, Size: o.Size})
	}
	return page, err
}

type reader struct{ *blob.Reader }

func (r reader) Attributes() *driver.ReaderAttributes {
	return &driver.ReaderAttributes{ModTime: r.ModTime(), Size: r.Size()}
}

func (reader) As(any) bool { return false }

func (d blobLink) NewRangeReader(
	ctx context.Context, key string, offset, length int64, _ *driver.ReaderOptions,
) (driver.Reader, error) {
	d.call("read", key)
	r, err := d.Memory.Blob().NewRangeReader(ctx, key, offset, length, nil)
	if err != nil {
		return nil, err
	}
	return reader{r}, nil
}

// A writer writes to the store when it is closed.
type writer struct {
	*blob.Writer
	call   func()
	answer func(error) error
}

func (w writer) Close() error {
	w.call()
	return w.answer(w.Writer.Close())
}

func (d blobLink) NewTypedWriter(ctx context.Context, key, contentType string, o *driver.WriterOptions) (driver.Writer,
	error) {
	if d.Dead.Load() {
		return nil, errKilled
	}
	w, err := d.Memory.Blob().NewWriter(ctx, key, &blob.WriterOptions{ContentType: contentType,
		IfNotExist: o.IfNotExist && !d.Careless})
	call := "write"
	if o.IfNotExist {
		call = "create"
	}
	answer := func(err error) error {
		if d.Answer != nil {
			return d.Answer(key, err)
		}
		return err
	}
	return writer{w, func() { d.call(call, key) }, answer}, err
}

func (d blobLink) Delete(ctx context.Context, key string) error {
	d.call("delete", key)
	if d.Dead.Load() {
		return errKilled
	}
	if d.Keeps {
		return errKept
	}
	return d.Memory.Blob().Delete(ctx, key)
}

func (d blobLink) Copy(context.Context, string, string, *driver.CopyOptions) error {
	return errors.New("nothing is copied")
}

func (d blobLink) SignedURL(context.Context, string, *driver.SignedURLOptions) (string, error) {
	return "", errors.New("nothing is signed")
}
