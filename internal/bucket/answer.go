package bucket

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/storage"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// An answer is what a store says to a call and gocloud doesn't pass on: the version of what was
// written, and the time by its clock. Asking for either would need a further call for each object.
// The answer is in the context of a call, and hooks in the store's client fill it in.
type answer struct {
	google *storage.Writer // knows the version; nil unless this is an upload to Google's storage

	mu      sync.Mutex // the pieces of an object are sent in parallel
	version string     // empty: the store hasn't said it
	date    time.Time  // by the store's clock; zero: the store hasn't said it
}

// answerKey is the key of an answer in a context.
type answerKey struct{}

// withAnswer returns a context for one call, and the answer that is filled in by the end of the
// call.
func withAnswer(ctx context.Context) (context.Context, *answer) {
	a := &answer{}
	return context.WithValue(ctx, answerKey{}, a), a
}

// noteS3Version stores the version that S3 returns for a whole object, sent at once or in pieces.
// It ignores other results, such as that of a single piece.
func noteS3Version(ctx context.Context, result any) {
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
		a.setVersion(*tag)
	}
}

// setVersion stores the ETag of a written object as its version.
func (a *answer) setVersion(tag string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version = strings.Trim(tag, `"`)
}

// noteDate stores the time by the store's clock from the header of an answer, also of one that
// reports an error.
func noteDate(ctx context.Context, header http.Header) {
	if a, ok := ctx.Value(answerKey{}).(*answer); ok {
		if date, err := http.ParseTime(header.Get("Date")); err == nil {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.date = date
		}
	}
}

// noteAzureVersion stores the version that Azure returns for a whole object, to Put Blob or Put
// Block List (https://learn.microsoft.com/rest/api/storageservices/put-block-list).
func noteAzureVersion(req *http.Request, resp *http.Response) {
	part := req.URL.Query().Get("comp")
	if a, ok := req.Context().Value(answerKey{}).(*answer); ok && req.Method == http.MethodPut &&
		(part == "" || part == "blocklist") {
		a.setVersion(resp.Header.Get("ETag"))
	}
}

// noteGoogleWriter stores the writer of Google's client, which knows the version once it is closed.
// as is the argument of BeforeWrite. The writer's object can't be changed after this.
func (a *answer) noteGoogleWriter(as func(any) bool) { as(&a.google) }

// result returns the version of what was written, as the store said it, and the time by its clock.
func (a *answer) result() (version string, date time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.google != nil && a.google.Attrs() != nil {
		return strconv.FormatInt(a.google.Attrs().Generation, 10), a.date
	}
	return a.version, a.date
}
