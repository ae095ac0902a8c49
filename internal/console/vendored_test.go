package console

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"testing"
)

// Scripts of others are, byte for byte, those of the packages that vendored.json names, with their
// licences. Every asset is either listed there or our own.
func TestVendoredFilesAreTheirAuthors(t *testing.T) {
	content, err := files.ReadFile("page/vendored.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		Package, Licence, Integrity string
		Files                       map[string]struct{ Path, SHA256 string }
	}
	if err := json.Unmarshal(content, &list); err != nil {
		t.Fatal(err)
	}
	known := []string{"style.css", "console.js", "icon.svg"}
	for _, p := range list {
		licensed := false
		for name, f := range p.Files {
			known = append(known, name)
			licensed = licensed || path.Ext(name) == ".LICENSE"
			content, err := fs.ReadFile(assets, name)
			if err != nil {
				t.Fatal(err)
			}
			if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != f.SHA256 {
				t.Errorf("%s isn't that of %s: %x", name, p.Package, sum)
			}
		}
		if !licensed || p.Licence == "" || p.Integrity == "" {
			t.Errorf("%s has no licence, or no checksum", p.Package)
		}
	}
	names, err := fs.Glob(assets, "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			t.Errorf("nobody knows where %s comes from", name)
		}
	}
}
