package blobsink

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"gocloud.dev/blob"
)

// mostDeleted is how many objects S3 deletes in one call
// (https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html).
const mostDeleted = 1000

// Deleter gives a function that deletes many objects of a bucket in few calls, whether they are there or not, and gives those that it
// couldn't delete. bucket is what OpenBucket has opened from the URL. It gives nil where each object takes a call of its own: in all
// stores but S3, whose driver would make two of them.
func Deleter(bucket *blob.Bucket, rawURL string) func(ctx context.Context, keys []string) (left []string) {
	var client *s3.Client
	u, err := url.Parse(rawURL)
	if err != nil || u.Query().Has("key") || !bucket.As(&client) {
		return nil
	}
	prefix := u.Query().Get("prefix")
	if path := strings.Trim(u.Path, "/"); path != "" {
		prefix += path + "/"
	}
	return func(ctx context.Context, keys []string) (left []string) {
		for some := range slices.Chunk(keys, mostDeleted) {
			left = append(left, deleteSome(ctx, client, u.Host, prefix, some)...)
		}
		return left
	}
}

func deleteSome(ctx context.Context, client *s3.Client, bucket, prefix string, keys []string) (left []string) {
	objects := make([]s3types.ObjectIdentifier, len(keys))
	for i, key := range keys {
		objects[i].Key = aws.String(prefix + key)
	}
	out, err := client.DeleteObjects(ctx, &s3.DeleteObjectsInput{
		Bucket: &bucket, Delete: &s3types.Delete{Objects: objects, Quiet: aws.Bool(true)},
	})
	if err != nil {
		return keys
	}
	for _, failed := range out.Errors {
		left = append(left, strings.TrimPrefix(aws.ToString(failed.Key), prefix))
	}
	return left
}
