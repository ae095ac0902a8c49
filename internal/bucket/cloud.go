package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
	"golang.org/x/sync/errgroup"
)

// A cloud is a store for which gocloud has a driver; its client was opened by this package.
type cloud struct {
	bucket     *blob.Bucket
	deleteMany deleter // nil: each object is deleted by a call of its own
}

const (
	// fileBuffer bounds the memory of one upload in bytes. The default buffers of the drivers are
	// up to 16 MiB, and S3 accepts no piece of an upload under 5 MiB.
	fileBuffer = 8 << 20
	// dataBuffer is the least buffer, in bytes, for content that is already in memory. With a
	// buffer longer than the content, the upload is one request. On Azure that is one Put Blob;
	// otherwise, staged blocks of a writer that has lost could be committed together with those of
	// another.
	dataBuffer = 5 << 20
	// deletions is how many calls of a deletion run in parallel.
	deletions = 8
)

// Do makes a call by gocloud, and adds to the answer what the store's client has noted.
func (s *cloud) Do(ctx context.Context, c Call) (a Answer, err error) {
	ctx, noted := withAnswer(ctx)
	switch c.Op {
	case OpGet:
		a, err = s.get(ctx, c.Key)
	case OpPut:
		err = s.put(ctx, noted, c)
	case OpList, OpListFiles:
		a.Objects, err = s.list(ctx, c.Key)
	case OpDelete:
		err = s.delete(ctx, c.Keys)
	default:
		err = fmt.Errorf("%q is no call", c.Op)
	}
	version, date := noted.result()
	if a.Date = date; c.Op == OpPut {
		a.Version = version
	}
	return a, translateError(c, err)
}

// get reads a whole object.
func (s *cloud) get(ctx context.Context, key string) (a Answer, err error) {
	r, err := s.bucket.NewReader(ctx, key, nil)
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	b := bytes.NewBuffer(make([]byte, 0, max(0, r.Size())+bytes.MinRead))
	_, err = b.ReadFrom(r)
	return Answer{Data: b.Bytes(), Version: readVersion(r)}, err
}

// put writes an object whole or not at all. After an error it cancels the writer's context, because
// closing the writer would publish what was written so far.
func (s *cloud) put(ctx context.Context, noted *answer, c Call) error {
	ctx, abort := context.WithCancel(ctx)
	defer abort()
	o := &blob.WriterOptions{
		ContentType: c.contentType(), BufferSize: max(dataBuffer, len(c.Data)+1), IfNotExist: c.On.Absent,
		BeforeWrite: func(as func(any) bool) error {
			boundUpload(as)
			err := precondition(as, c.On)
			noted.noteGoogleWriter(as)
			return err
		},
	}
	f := c.File
	if f != nil {
		o.CacheControl, o.Metadata, o.BufferSize = f.CacheControl, f.Metadata, fileBuffer
	}
	w, err := s.bucket.NewWriter(ctx, c.Key, o)
	if err != nil {
		return err
	}
	if f != nil {
		err = f.copyTo(ctx, struct{ io.Writer }{w})
	} else {
		_, err = w.Write(c.Data)
	}
	if err != nil {
		abort()
		_ = w.Close() // frees the writer; its context is cancelled, so nothing is published, and err says why
		return err
	}
	return w.Close()
}

// list lists the objects. callTimeout holds for each page, not for the whole listing.
func (s *cloud) list(ctx context.Context, prefix string) (objects []Object, err error) {
	for it := s.bucket.List(&blob.ListOptions{Prefix: prefix}); ; {
		var o *blob.ListObject
		err := withinTimeout(ctx, func(ctx context.Context) (err error) { o, err = it.Next(ctx); return err })
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		objects = append(objects, Object{Key: o.Key, Size: o.Size, Version: listedVersion(o), Modified: o.ModTime})
	}
}

// delete deletes objects; one that doesn't exist is no error.
func (s *cloud) delete(ctx context.Context, keys []string) error {
	if s.deleteMany != nil {
		return s.deleteMany(ctx, keys)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(deletions)
	for _, key := range keys {
		g.Go(func() error {
			if err := s.bucket.Delete(ctx, key); gcerrors.Code(err) != gcerrors.NotFound {
				return err
			}
			return nil
		})
	}
	return g.Wait()
}
