package jobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// errExists: an object that must be created once was there already.
var errExists = errors.New("exists")

// create writes an object that must not exist yet. Of several writers one wins, the others get errExists.
//
// The file driver's own conditional create checks and then renames, so that several writers can win; a hard link fails
// with EEXIST instead, in one step.
func (l *Ledger) create(ctx context.Context, key string, data []byte) error {
	if l.dir != "" {
		return createFile(filepath.Join(l.dir, filepath.FromSlash(key)), data)
	}
	err := l.bucket.WriteAll(ctx, key, data, &blob.WriterOptions{IfNotExist: true, ContentType: "application/json"})
	if gcerrors.Code(err) == gcerrors.FailedPrecondition {
		return errExists
	}
	return err
}

func createFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // a leftover is ignored by every reader
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Sync()
	}
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", tmp.Name(), err)
	}
	if err := os.Link(tmp.Name(), path); errors.Is(err, fs.ErrExist) {
		return errExists
	} else if err != nil {
		return err
	}
	return nil
}
