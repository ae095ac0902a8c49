package bucket

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"gocloud.dev/blob"
)

// A deleter deletes up to mostDeleted objects in one call, whether they exist or not.
type deleter func(ctx context.Context, keys []string) error

// deleterOf returns a deleter for S3, whose driver in gocloud would make two calls for each object.
// It returns nil for other stores.
func deleterOf(bucket *blob.Bucket, u *url.URL, prefix string) deleter {
	var client *s3.Client
	if u.Query().Has("key") || !bucket.As(&client) {
		return nil
	}
	prefix = u.Query().Get("prefix") + prefix
	return func(ctx context.Context, keys []string) error {
		objects := make([]s3types.ObjectIdentifier, len(keys))
		for i, key := range keys {
			objects[i].Key = aws.String(prefix + key)
		}
		out, err := client.DeleteObjects(ctx, &s3.DeleteObjectsInput{
			Bucket: &u.Host, Delete: &s3types.Delete{Objects: objects, Quiet: aws.Bool(true)},
		})
		if err != nil {
			return err
		}
		for _, failed := range out.Errors {
			return fmt.Errorf("%d of %d objects stay, one of them %s: %s", len(out.Errors), len(keys),
				strings.TrimPrefix(aws.ToString(failed.Key), prefix), oneLine(aws.ToString(failed.Message)))
		}
		return nil
	}
}
