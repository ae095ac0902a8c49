package wire

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/rooted"
	"github.com/reportferry/reportferry/sinks"
)

// checkRoot refuses to begin a second ledger by mistake, with nothing done. It returns an error
// when the ledger's path is relative and one of these holds:
//   - The root that the config or REPORTFERRY_ROOT names doesn't exist.
//   - No root is named, there is no ledger yet in the config's folder, and there is one in the
//     working directory, where earlier versions had theirs.
func checkRoot(c *config.Config) error {
	written := rooted.Written(c.Ledger)
	here, there := rooted.Folder(written), rooted.Folder(c.Ledger)
	if written == c.Ledger { // absolute, or in a bucket
		return nil
	}
	if c.RootNamed {
		_, err := os.Stat(c.Root)
		if err != nil {
			err = fmt.Errorf("the root of the config's relative paths: %w; make the folder, or name another by root "+
				"in the config, or by REPORTFERRY_ROOT", err)
		}
		return err
	}
	_, lacks := os.Stat(there)
	if _, err := os.Stat(here); err != nil || lacks == nil {
		return nil
	}
	at, err := filepath.Abs(".")
	return errors.Join(err, fmt.Errorf("%s is relative to the config's folder, so that the ledger would begin at "+
		"%s, and one is there already below the "+
		"working directory; to go on with that one put `root: %s` into the config, or set REPORTFERRY_ROOT, or move it",
		written, there, at))
}

// Place returns where a ledger or a sink is, for people: the full path of a folder, or the URL of
// another place without what may be secret.
func Place(rawURL string) string {
	return cmp.Or(rooted.Folder(rawURL), sinks.Redact(rawURL))
}
