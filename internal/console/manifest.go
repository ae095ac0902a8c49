package console

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/reportferry/reportferry/internal/bucket"
)

// manifestName is where an export says which files of a bucket are its own. Without it, nothing
// could tell them from files that somebody else has put there.
const manifestName = "reportferry-console.json"

// A manifest lists the files of an export by path, with the hash of what was written. An export
// that is under way lists all that it may write, without hashes, so that after a crash every page
// counts as changed, and none is forgotten.
type manifest struct {
	Pages  map[string]string `json:"pages"`
	Export string            `json:"export,omitempty"` // random name of the export that is under way; empty: none is
}

// readManifest reads the manifest of the last export; the manifest is empty when there was no
// export. A damaged one is an error, because pages that it lists would stay for ever.
func (x *export) readManifest(ctx context.Context) error {
	data, version, err := x.bucket.Get(ctx, manifestName)
	switch x.replaceIf = (bucket.Condition{Version: version}); {
	case errors.Is(err, fs.ErrNotExist):
		x.replaceIf.Absent = true
		return nil
	case err != nil:
		return err
	}
	if err := json.Unmarshal(data, &x.lastManifest); err != nil {
		return fmt.Errorf("%s is damaged: %w; delete it: the next export then writes every page again", manifestName,
			err)
	}
	return nil
}

// writeManifest replaces the manifest that was read or written last. Of two exports that run at
// once, one fails here.
func (x *export) writeManifest(ctx context.Context, m manifest) error {
	data, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	version, err := x.bucket.Put(ctx, manifestName, data, x.replaceIf)
	if err != nil {
		there, its, lost := x.bucket.Get(ctx, manifestName) // the answer may have been lost
		if lost != nil || !bytes.Equal(there, data) {
			return err
		}
		version = its
	}
	x.replaceIf = bucket.Condition{Version: version}
	return nil
}

// hashOf returns the SHA-256 of a content in hexadecimal.
func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// ownPage is in every page. A file with it under a path that no manifest lists shows that an export
// was cut off, or that another one is under way.
var ownPage = []byte("· reportferry</title>")

// errForeign says that the path holds a file of somebody else.
var errForeign = errors.New("is there already, and isn't a page of the console; name a folder of its own, such as " +
	"gs://bucket/status")

// mayWrite returns an error when the path holds a file that no export has written.
func mayWrite(ctx context.Context, b *bucket.Bucket, path string, content []byte) error {
	there, _, err := b.Get(ctx, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !bytes.Contains(there, ownPage) && !bytes.Equal(there, content):
		return errForeign
	}
	return nil
}
