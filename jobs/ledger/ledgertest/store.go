// Package ledgertest has the store that the ledger, and what stands on it, is tested on. Without it no test could say what a
// plan costs in calls, or act between two calls of a process.
package ledgertest

import (
	"context"
	"errors"
	"sync/atomic"

	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"
)

// A Store is a bucket's driver that has another bucket behind it, and lets a test wait or act before each call reaches
// that one: a store in another data centre.
type Store struct {
	*blob.Bucket
	Calls    atomic.Int64
	Before   func(call, key string)            // call is attributes, list, read, write, create or delete; nil: nothing happens
	Dead     atomic.Bool                       // from now on no write arrives: the process that made them was killed
	Keeps    bool                              // refuses to delete, as stores do that must keep all for years
	Careless bool                              // creates what exists already, as some stores do
	Answer   func(key string, err error) error // what the caller of a write is told; nil: the truth
}

func (d link) call(name, key string) {
	d.Calls.Add(1)
	if d.Before != nil {
		d.Before(name, key)
	}
}

// Open is the store as a bucket. Each process of a test opens its own.
func (s *Store) Open() *blob.Bucket { return blob.NewBucket(link{s}) }

var (
	errKilled = errors.New("the process was killed")
	errKept   = errors.New("nothing may be deleted here")
)

// A link is the driver of the bucket.
type link struct{ *Store }

func (d link) ErrorCode(err error) gcerrors.ErrorCode { return gcerrors.Code(err) }
func (d link) As(any) bool                            { return false }
func (d link) ErrorAs(error, any) bool                { return false }

func (d link) Attributes(ctx context.Context, key string) (*driver.Attributes, error) {
	d.call("attributes", key)
	a, err := d.Bucket.Attributes(ctx, key)
	if err != nil {
		return nil, err
	}
	return &driver.Attributes{ModTime: a.ModTime, Size: a.Size}, nil
}

func (d link) ListPaged(ctx context.Context, o *driver.ListOptions) (*driver.ListPage, error) {
	d.call("list", o.Prefix)
	token := o.PageToken
	if len(token) == 0 {
		token = blob.FirstPageToken
	}
	objects, next, err := d.ListPage(ctx, token, 1000, &blob.ListOptions{Prefix: o.Prefix})
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

func (d link) NewRangeReader(
	ctx context.Context, key string, offset, length int64, _ *driver.ReaderOptions,
) (driver.Reader, error) {
	d.call("read", key)
	r, err := d.Bucket.NewRangeReader(ctx, key, offset, length, nil)
	if err != nil {
		return nil, err
	}
	return reader{r}, nil
}

// writer reaches the store when it is closed.
type writer struct {
	*blob.Writer
	call   func()
	answer func(error) error
}

func (w writer) Close() error {
	w.call()
	return w.answer(w.Writer.Close())
}

func (d link) NewTypedWriter(ctx context.Context, key, contentType string, o *driver.WriterOptions) (driver.Writer, error) {
	if d.Dead.Load() {
		return nil, errKilled
	}
	w, err := d.NewWriter(ctx, key, &blob.WriterOptions{ContentType: contentType, IfNotExist: o.IfNotExist && !d.Careless})
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

func (d link) Delete(ctx context.Context, key string) error {
	d.call("delete", key)
	if d.Dead.Load() {
		return errKilled
	}
	if d.Keeps {
		return errKept
	}
	return d.Bucket.Delete(ctx, key)
}

func (d link) Copy(context.Context, string, string, *driver.CopyOptions) error {
	return errors.New("nothing is copied")
}

func (d link) SignedURL(context.Context, string, *driver.SignedURLOptions) (string, error) {
	return "", errors.New("nothing is signed")
}
