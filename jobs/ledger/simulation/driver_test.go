package simulation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"

	"github.com/reportferry/reportferry/internal/bucket"
)

// A link is one process's way to a store: the driver of its bucket. It looks like S3's.
type link struct {
	process *process
	store   *store
}

// Sinks are opened by URLs: sim://lake is that of the process that is running.
const lakeURL = "sim://lake"

var current *world

type opener struct{}

func (opener) OpenBucketURL(context.Context, *url.URL) (*blob.Bucket, error) {
	p := current.running
	return blob.NewBucket(&link{p, p.world.lake}), nil
}

func init() { blob.DefaultURLMux().RegisterBucket("sim", opener{}) }

// Blob is the same store by gocloud's calls.
func (l *link) Blob() *blob.Bucket { return blob.NewBucket(l) }

// Do makes it a bucket.Driver: the ledger's way to its store.
func (l *link) Do(ctx context.Context, c bucket.Call) (a bucket.Answer, err error) {
	r := request{key: c.Key, data: c.Data, absent: c.On.Absent, match: c.On.Version}
	switch c.Op {
	case bucket.OpGet:
		r.op = "get"
	case bucket.OpPut:
		if r.op = "put"; r.absent {
			r.op = "create"
		}
	case bucket.OpList:
		r.op = "list"
	case bucket.OpDelete:
		for _, key := range c.Keys {
			if _, err := l.do(ctx, request{op: "delete", key: key}); err != nil && !errors.Is(err, errNotFound) {
				return a, err
			}
		}
		return a, nil
	}
	res, err := l.do(ctx, r)
	a.Date = res.date
	switch {
	case errors.Is(err, errNotFound) && c.Op == bucket.OpGet:
		return a, fs.ErrNotExist
	case errors.Is(err, errPrecondition):
		return a, bucket.ErrConflict
	case errors.Is(err, errNotFound), errors.Is(err, errConflict):
		return a, fmt.Errorf("%w: %w", bucket.ErrUnknown, err)
	case err != nil:
		return a, err
	}
	if res.object != nil {
		a.Data, a.Version = bytes.Clone(res.object.data), res.object.etag
	}
	for _, o := range res.list {
		a.Objects = append(a.Objects, bucket.Object{Key: o.key, Size: int64(len(o.data)), Version: o.etag,
			Modified: o.modTime})
	}
	return a, nil
}

func (l *link) ErrorCode(err error) gcerrors.ErrorCode {
	var refused *refusal
	if errors.As(err, &refused) {
		return refused.code
	}
	return gcerrors.Unknown
}

func (l *link) As(any) bool             { return false }
func (l *link) ErrorAs(error, any) bool { return false }
func (l *link) Close() error            { return nil }

func (l *link) do(ctx context.Context, r request) (result, error) {
	res := l.process.call(ctx, l.store, r)
	return res, res.err
}

func (l *link) Attributes(ctx context.Context, key string) (*driver.Attributes, error) {
	res, err := l.do(ctx, request{op: "head", key: key})
	if err != nil {
		return nil, err
	}
	o := res.object
	return &driver.Attributes{
		ModTime: o.modTime, Size: int64(len(o.data)), ETag: o.etag, Metadata: o.meta, ContentType: o.contentType,
	}, nil
}

func (l *link) ListPaged(ctx context.Context, o *driver.ListOptions) (*driver.ListPage, error) {
	if o.BeforeList != nil {
		if err := o.BeforeList(func(any) bool { return false }); err != nil {
			return nil, err
		}
	}
	res, err := l.do(ctx, request{op: "list", key: o.Prefix})
	if err != nil {
		return nil, err
	}
	page := &driver.ListPage{}
	for _, found := range res.list {
		page.Objects = append(page.Objects, &driver.ListObject{
			Key: found.key, ModTime: found.modTime, Size: int64(len(found.data)),
			AsFunc: func(i any) bool {
				o, ok := i.(*types.Object)
				if ok {
					*o = types.Object{Key: &found.key, ETag: &found.etag}
				}
				return ok
			},
		})
	}
	return page, nil
}

type reader struct {
	*bytes.Reader
	o *object
}

func (reader) Close() error { return nil }
func (reader) As(any) bool  { return false }

func (r reader) Attributes() *driver.ReaderAttributes {
	return &driver.ReaderAttributes{ModTime: r.o.modTime, Size: int64(len(r.o.data)), ContentType: r.o.contentType}
}

func (l *link) NewRangeReader(
	ctx context.Context, key string, offset, length int64, o *driver.ReaderOptions,
) (driver.Reader, error) {
	if o.BeforeRead != nil {
		if err := o.BeforeRead(func(any) bool { return false }); err != nil {
			return nil, err
		}
	}
	res, err := l.do(ctx, request{op: "get", key: key})
	if err != nil {
		return nil, err
	}
	data := res.object.data[min(offset, int64(len(res.object.data))):]
	if length >= 0 {
		data = data[:min(length, int64(len(data)))]
	}
	return reader{bytes.NewReader(data), res.object}, nil
}

// A writer sends its request when it is closed, unless its context has ended: S3 makes an object of
// a whole upload only.
type writer struct {
	bytes.Buffer
	ctx  context.Context
	link *link
	r    request
}

func (l *link) NewTypedWriter(
	ctx context.Context, key, contentType string, o *driver.WriterOptions,
) (driver.Writer, error) {
	upload := &transfermanager.UploadObjectInput{}
	if o.IfNotExist {
		any := "*"
		upload.IfNoneMatch = &any
	}
	if o.BeforeWrite != nil {
		err := o.BeforeWrite(func(i any) bool {
			p, ok := i.(**transfermanager.UploadObjectInput)
			if ok {
				*p = upload
			}
			return ok
		})
		if err != nil {
			return nil, err
		}
	}
	w := &writer{ctx: ctx, link: l, r: request{op: "put", key: key, contentType: contentType, meta: o.Metadata}}
	if upload.IfNoneMatch != nil {
		w.r.op, w.r.absent = "create", true
	}
	if upload.IfMatch != nil {
		w.r.match = *upload.IfMatch
	}
	return w, nil
}

func (w *writer) Close() error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	w.r.data = w.Bytes()
	_, err := w.link.do(w.ctx, w.r)
	return err
}

func (l *link) Delete(ctx context.Context, key string) error {
	_, err := l.do(ctx, request{op: "delete", key: key})
	return err
}

func (l *link) Copy(context.Context, string, string, *driver.CopyOptions) error {
	return errors.New("nothing is copied")
}

func (l *link) SignedURL(context.Context, string, *driver.SignedURLOptions) (string, error) {
	return "", errors.New("nothing is signed")
}

var _ io.Closer = (*writer)(nil)
