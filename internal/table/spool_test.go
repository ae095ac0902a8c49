//go:build !fuzz

package table

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
)

// A part that is held in memory is the same file as one on the disk, and one that grows out of it
// moves there whole.
func TestHeldParts(t *testing.T) {
	var want [][]byte
	for _, hold := range []int{0, HoldSmall, 100, 1} {
		o := smallOptions(t)
		o.Hold = hold
		parts, err := convert(o, strings.NewReader(smallAnswer))
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range parts {
			f, err := p.Open()
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(f)
			if err != nil || f.Close() != nil || int64(len(data)) != p.Size {
				t.Errorf("hold %d: %d bytes of %d, %v", hold, len(data), p.Size, err)
			}
			if hold == 0 {
				want = append(want, data)
			}
			if !bytes.Equal(data, want[i]) {
				t.Errorf("hold %d: part %d is another file", hold, i)
			}
			if onDisk := p.Path != ""; onDisk != (p.Size > int64(hold)) {
				t.Errorf("hold %d: %d bytes, on the disk: %t", hold, p.Size, onDisk)
			}
			if groups, err := p.Grouped(t.Context(), o.Columns, []string{"campaign"}); err != nil || p.Rows > 0 &&
				len(groups) == 0 {
				t.Errorf("hold %d: groups %v, %v", hold, groups, err)
			}
			p.Remove()
		}
		noFiles(t, o.Dir)
		// Half an answer leaves nothing either.
		if _, err := convert(o, io.MultiReader(strings.NewReader(smallAnswer), strings.NewReader("half"))); err == nil {
			t.Error("half an answer is an answer")
		}
		noFiles(t, o.Dir)
	}
	o := smallOptions(t)
	o.Dir, o.Hold = o.Dir+"/gone", HoldSmall
	if _, err := convert(o, strings.NewReader(smallAnswer)); err != nil {
		t.Errorf("what is held needs no folder: %v", err)
	}
	if _, err := os.Stat(o.Dir); !os.IsNotExist(err) {
		t.Error(err)
	}
}
