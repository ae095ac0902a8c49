package blobsink

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"cloud.google.com/go/storage"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// An answer is what a store says of an object when it has taken it. gocloud doesn't pass it on, and to look at each object once
// more costs a call for each part. It travels with the context of the write, and the store's client fills it in.
type answer struct {
	version string // empty: the store hasn't said it
	google  *storage.Writer
}

type answerKey struct{}

// answering gives a context for one write, and what the store will have answered once its writer is closed.
func answering(ctx context.Context) (context.Context, *answer) {
	a := &answer{}
	return context.WithValue(ctx, answerKey{}, a), a
}

// ofS3 takes what S3 answers to a whole object, sent at once or in pieces, and not to a piece.
func ofS3(ctx context.Context, result any) {
	a, ok := ctx.Value(answerKey{}).(*answer)
	if !ok {
		return
	}
	var tag *string
	switch out := result.(type) {
	case *s3.PutObjectOutput:
		tag = out.ETag
	case *s3.CompleteMultipartUploadOutput:
		tag = out.ETag
	}
	if tag != nil {
		a.version = strings.Trim(*tag, `"`)
	}
}

// ofAzure takes what Azure answers to a whole object: to Put Blob, or to Put Block List after its blocks
// (https://learn.microsoft.com/rest/api/storageservices/put-block-list).
func ofAzure(req *http.Request, resp *http.Response) {
	part := req.URL.Query().Get("comp")
	if a, ok := req.Context().Value(answerKey{}).(*answer); ok && req.Method == http.MethodPut && (part == "" || part == "blocklist") {
		a.version = strings.Trim(resp.Header.Get("ETag"), `"`)
	}
}

// ofGoogle takes the writer of Google's client, which knows the answer once it is closed. as is the argument of BeforeWrite; the
// writer's object can't be changed after this.
func (a *answer) ofGoogle(as func(any) bool) { as(&a.google) }

// said gives the version of what was written, as the store said it.
func (a *answer) said() string {
	if a.google != nil && a.google.Attrs() != nil {
		return strconv.FormatInt(a.google.Attrs().Generation, 10)
	}
	return a.version
}
