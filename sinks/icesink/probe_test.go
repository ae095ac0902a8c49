package icesink

import (
	"io/fs"
	"path/filepath"
	"testing"
)

// A probe leaves nothing behind: no table, no namespace, no file.
func TestProbe(t *testing.T) {
	u := newURL(t)
	s := openURL(t, u)
	for range 2 {
		if err := s.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	c, err := s.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if there, err := c.CheckNamespaceExists(t.Context(), s.namespace); err != nil || there {
		t.Errorf("the namespace is there: %v, %v", there, err)
	}
	err = filepath.WalkDir(s.properties["warehouse"][len("file://"):],
		func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				t.Errorf("%s is left", path)
			}
			return err
		})
	if err != nil {
		t.Error(err)
	}
}
