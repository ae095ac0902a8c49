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

// An answer is what a store says beside what gocloud passes on: the version of what it has taken,
// and its clock's time. To ask for either would be a call more for each object. It travels with the
// context of a call, and the store's client fills it in.
type answer struct {
	google *storage.Writer

	mu      sync.Mutex // pieces are sent at the same time
	version string     // empty: the store hasn't said it
	date    time.Time
}

type answerKey struct{}

// answering gives a context for one call, and what the store will have answered once it is over.
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
		a.made(*tag)
	}
}

func (a *answer) made(tag string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version = strings.Trim(tag, `"`)
}

// dated takes the time of an answer by the store's clock, be it an error or not.
func dated(ctx context.Context, header http.Header) {
	if a, ok := ctx.Value(answerKey{}).(*answer); ok {
		if date, err := http.ParseTime(header.Get("Date")); err == nil {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.date = date
		}
	}
}

// ofAzure takes what Azure answers to a whole object: to Put Blob, or to Put Block List after its
// blocks (https://learn.microsoft.com/rest/api/storageservices/put-block-list).
func ofAzure(req *http.Request, resp *http.Response) {
	part := req.URL.Query().Get("comp")
	if a, ok := req.Context().Value(answerKey{}).(*answer); ok && req.Method == http.MethodPut &&
		(part == "" || part == "blocklist") {
		a.made(resp.Header.Get("ETag"))
	}
}

// ofGoogle takes the writer of Google's client, which knows the answer once it is closed. as is the
// argument of BeforeWrite; the writer's object can't be changed after this.
func (a *answer) ofGoogle(as func(any) bool) { as(&a.google) }

// result gives the version of what was written, as the store said it, and its clock's time.
func (a *answer) result() (version string, date time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.google != nil && a.google.Attrs() != nil {
		return strconv.FormatInt(a.google.Attrs().Generation, 10), a.date
	}
	return a.version, a.date
}
