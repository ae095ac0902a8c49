package bucket

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	azobject "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
	"google.golang.org/api/googleapi"
)

// precondition sets a condition on the request of the store's client. as is the argument of
// BeforeWrite. Absent isn't set here, because gocloud has an option for it.
func precondition(as func(any) bool, c Condition) error {
	if c.Version == "" {
		return nil
	}
	var object **storage.ObjectHandle
	var upload *transfermanager.UploadObjectInput
	var stream *azblob.UploadStreamOptions
	quoted := `"` + c.Version + `"`
	switch tag := azcore.ETag(quoted); {
	case as(&object):
		generation, err := strconv.ParseInt(c.Version, 10, 64)
		if err != nil {
			return fmt.Errorf("%q isn't the generation of an object", c.Version)
		}
		*object = (*object).If(storage.Conditions{GenerationMatch: generation})
	case as(&upload):
		upload.IfMatch = &quoted
	case as(&stream):
		modified := azobject.ModifiedAccessConditions{IfMatch: &tag}
		stream.AccessConditions = &azblob.AccessConditions{ModifiedAccessConditions: &modified}
	default:
		return errors.New("the client of this store has no conditions")
	}
	return nil
}

// translateError translates a store's error into one that callers know. For a conditional write, S3
// answers NoSuchKey to If-Match on a deleted key, and ConditionalRequestConflict while another
// conditional write of the key is in progress
// (https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html). Neither says
// that the condition wasn't met, so both become ErrUnknown.
func translateError(c Call, err error) error {
	if err == nil {
		return nil
	}
	code, word, status := gcerrors.Code(err), codeOf(err), statusOf(err)
	switch {
	case c.Op == OpPut && code == gcerrors.FailedPrecondition:
		return ErrConflict
	case c.Op == OpPut && c.On != (Condition{}) && (word == "NoSuchKey" || word == "ConditionalRequestConflict"):
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	case c.Op == OpGet && code == gcerrors.NotFound && word != "NoSuchBucket" &&
		word != string(bloberror.ContainerNotFound):
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	case status == http.StatusTooManyRequests:
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return err
}

// codeOf returns the error code of S3 or Azure; "" for other errors.
func codeOf(err error) string {
	var amazon smithy.APIError
	var azure *azcore.ResponseError
	switch {
	case errors.As(err, &amazon):
		return amazon.ErrorCode()
	case errors.As(err, &azure):
		return azure.ErrorCode
	}
	return ""
}

// statusOf returns the HTTP status of the answer behind an error; 0 if there is none.
func statusOf(err error) int {
	var amazon interface{ HTTPStatusCode() int }
	var azure *azcore.ResponseError
	var google *googleapi.Error
	switch {
	case errors.As(err, &amazon):
		return amazon.HTTPStatusCode()
	case errors.As(err, &azure):
		return azure.StatusCode
	case errors.As(err, &google):
		return google.Code
	}
	return 0
}

// version returns the store's own name for the state of an object: its generation or ETag.
func version(stored *blob.Attributes) string {
	var google storage.ObjectAttrs
	if stored.As(&google) {
		return strconv.FormatInt(google.Generation, 10)
	}
	if stored.ETag == "" {
		return fileVersion(stored.ModTime, stored.Size)
	}
	return strings.Trim(stored.ETag, `"`)
}

// readVersion returns the version of an object that is being read.
func readVersion(r *blob.Reader) string {
	var google *storage.Reader
	var amazon s3.GetObjectOutput
	var azure azobject.DownloadStreamResponse
	switch {
	case r.As(&google):
		return strconv.FormatInt(google.Attrs.Generation, 10)
	case r.As(&amazon) && amazon.ETag != nil:
		return strings.Trim(*amazon.ETag, `"`)
	case r.As(&azure) && azure.ETag != nil:
		return strings.Trim(string(*azure.ETag), `"`)
	}
	return fileVersion(r.ModTime(), r.Size())
}

// listedVersion returns the version of an object in a listing.
func listedVersion(o *blob.ListObject) string {
	var google storage.ObjectAttrs
	var amazon s3types.Object
	var azure container.BlobItem
	switch {
	case o.As(&google):
		return strconv.FormatInt(google.Generation, 10)
	case o.As(&amazon) && amazon.ETag != nil:
		return strings.Trim(*amazon.ETag, `"`)
	case o.As(&azure) && azure.Properties != nil && azure.Properties.ETag != nil:
		return strings.Trim(string(*azure.Properties.ETag), `"`)
	}
	return fileVersion(o.ModTime, o.Size)
}

// fileVersion returns a version made of the time and size, for a store that has none. It has the
// form that gocloud uses for files.
func fileVersion(modified time.Time, size int64) string {
	return fmt.Sprintf("%x-%x", modified.UnixNano(), size)
}
