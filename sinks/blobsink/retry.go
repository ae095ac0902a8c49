package blobsink

import (
	"cloud.google.com/go/storage"
	"gocloud.dev/blob"
)

// How often a call to gs:// is sent before its last error counts. Google's clients begin with pauses of up to 1 s and, in
// uploads, 0.1 s, and double them. S3's and Azure's clients have bounds of their own, of three and four.
const (
	tries       = 5
	uploadTries = 8
)

// ridesOut lets a bucket's client send again what the store answered with 503 or not at all. Google's own repeats only
// calls that are harmless to repeat for everybody, which leaves out writing an object
// (https://cloud.google.com/storage/docs/retry-strategy); of ours every one is. And what it repeats, it repeats for ever.
func ridesOut(bucket *blob.Bucket) {
	var client *storage.Client
	if bucket.As(&client) {
		client.SetRetry(storage.WithPolicy(storage.RetryAlways), storage.WithMaxAttempts(tries))
	}
}

// boundUpload makes the bound hold for one upload, for which Google's client doesn't know it. as is that of BeforeWrite.
func boundUpload(as func(any) bool) {
	var object **storage.ObjectHandle
	if !as(&object) {
		return
	}
	left := uploadTries - 1 // asked by one goroutine
	*object = (*object).Retryer(storage.WithErrorFunc(func(err error) bool {
		if !storage.ShouldRetry(err) || left == 0 {
			return false
		}
		left--
		return true
	}))
}
