package console

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// manifestName is where an export says which files of a bucket are its own. Without it, nothing could tell them from files that
// somebody else has put there.
const manifestName = "reportferry-console.json"

// A manifest lists the files of an export by path, with the hash of what was written. An export that is under way lists all that
// it may write, without hashes, so that after a crash every page counts as changed, and none is forgotten.
type manifest struct {
	Pages map[string]string `json:"pages"`
}

// readManifest reads that of the last export; an empty one when there is none. One that is damaged is an error, because pages that
// it lists would stay for ever.
func readManifest(ctx context.Context, b *blob.Bucket) (m manifest, err error) {
	data, err := b.ReadAll(ctx, manifestName)
	switch {
	case gcerrors.Code(err) == gcerrors.NotFound:
		return manifest{}, nil
	case err != nil:
		return m, fmt.Errorf("read %s: %w", manifestName, err)
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("%s is damaged: %w; delete it: the next export then writes every page again", manifestName, err)
	}
	return m, nil
}

func (m manifest) write(ctx context.Context, b *blob.Bucket) error {
	data, err := json.MarshalIndent(m, "", " ")
	if err == nil {
		err = put(ctx, b, manifestName, append(data, '\n'))
	}
	return err
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// ownPage is in every page: who finds a file with it under a path that no manifest lists knows that an export was cut off, or that
// another one is under way.
var ownPage = []byte("· reportferry</title>")

// errForeign: the place holds a file of somebody else.
var errForeign = errors.New("is there already, and isn't a page of the console; name a folder of its own, such as gs://bucket/status")

// mayWrite refuses to replace what no export has written.
func mayWrite(ctx context.Context, b *blob.Bucket, path string, content []byte) error {
	there, err := b.ReadAll(ctx, path)
	switch {
	case gcerrors.Code(err) == gcerrors.NotFound:
		return nil
	case err != nil:
		return err
	case !bytes.Contains(there, ownPage) && !bytes.Equal(there, content):
		return errForeign
	}
	return nil
}
