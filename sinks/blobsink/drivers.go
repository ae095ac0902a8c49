package blobsink

// The stores that a bucket's URL may name, beside those that OpenBucket opens itself.
import (
	_ "gocloud.dev/blob/fileblob" // file://
	_ "gocloud.dev/blob/memblob"  // mem://
)
