package jobs

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/blob/memblob"
	"gocloud.dev/gcerrors"
)

// distant is a bucket's driver that has another bucket behind it, and lets a test wait or act before each call reaches
// that one: a store in another data centre.
type distant struct {
	*blob.Bucket
	calls    atomic.Int64
	before   func(call, key string)
	careless bool                              // creates what exists already, as some stores do
	answer   func(key string, err error) error // what the caller of a write is told; nil: the truth
}

// distantLedger is a ledger over distant memory.
func distantLedger(t testing.TB, before func(call, key string)) (*Ledger, *distant) {
	d := &distant{Bucket: memblob.OpenBucket(nil), before: before}
	l := OpenLedger(LedgerOptions{Bucket: blob.NewBucket(d), URL: "mem://ledger"})
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l, d
}

// slow waits as long for each call as a bucket of the same region does.
func slow(string, string) { time.Sleep(latency) }

const latency = 20 * time.Millisecond

func (d *distant) call(name, key string) {
	d.calls.Add(1)
	if d.before != nil {
		d.before(name, key)
	}
}

func (d *distant) ErrorCode(err error) gcerrors.ErrorCode { return gcerrors.Code(err) }
func (d *distant) As(any) bool                            { return false }
func (d *distant) ErrorAs(error, any) bool                { return false }

func (d *distant) Attributes(ctx context.Context, key string) (*driver.Attributes, error) {
	d.call("attributes", key)
	a, err := d.Bucket.Attributes(ctx, key)
	if err != nil {
		return nil, err
	}
	return &driver.Attributes{ModTime: a.ModTime, Size: a.Size}, nil
}

func (d *distant) ListPaged(ctx context.Context, o *driver.ListOptions) (*driver.ListPage, error) {
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

type distantReader struct{ *blob.Reader }

func (r distantReader) Attributes() *driver.ReaderAttributes {
	return &driver.ReaderAttributes{ModTime: r.ModTime(), Size: r.Size()}
}

func (distantReader) As(any) bool { return false }

func (d *distant) NewRangeReader(
	ctx context.Context, key string, offset, length int64, _ *driver.ReaderOptions,
) (driver.Reader, error) {
	d.call("read", key)
	r, err := d.Bucket.NewRangeReader(ctx, key, offset, length, nil)
	if err != nil {
		return nil, err
	}
	return distantReader{r}, nil
}

// distantWriter reaches the store when it is closed.
type distantWriter struct {
	*blob.Writer
	call   func()
	answer func(error) error
}

func (w distantWriter) Close() error {
	w.call()
	return w.answer(w.Writer.Close())
}

func (d *distant) NewTypedWriter(ctx context.Context, key, contentType string, o *driver.WriterOptions) (driver.Writer, error) {
	w, err := d.NewWriter(ctx, key, &blob.WriterOptions{ContentType: contentType, IfNotExist: o.IfNotExist && !d.careless})
	call := "write"
	if o.IfNotExist {
		call = "create"
	}
	answer := func(err error) error {
		if d.answer != nil {
			return d.answer(key, err)
		}
		return err
	}
	return distantWriter{w, func() { d.call(call, key) }, answer}, err
}

func (d *distant) Delete(ctx context.Context, key string) error {
	d.call("delete", key)
	return d.Bucket.Delete(ctx, key)
}

func (d *distant) Copy(context.Context, string, string, *driver.CopyOptions) error {
	return errors.New("nothing is copied")
}

func (d *distant) SignedURL(context.Context, string, *driver.SignedURLOptions) (string, error) {
	return "", errors.New("nothing is signed")
}
