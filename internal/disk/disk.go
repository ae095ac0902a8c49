// Package disk writes files that must survive a crash. Without it, a folder that serves as a bucket
// would lose, in a power cut, the names of files whose bytes were written, in the ledger and in
// tables alike.
//
// A file appears whole: it is written under a name beside its own (CreateBeside), synced, and
// linked or renamed. Then the folders are synced (Root), because a file's name lies in its folder
// and not in the file.
package disk

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"strconv"
)

// CreateBeside creates a temporary file beside path, in the same folder, so that it can be renamed
// to path in one step. Its permissions are those that the umask leaves, as for any new file;
// os.CreateTemp would give them to the owner alone.
func CreateBeside(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path+"."+strconv.FormatUint(rand.Uint64(), 36)+".tmp", os.O_RDWR|os.O_CREATE|os.O_EXCL,
			0o666)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}
