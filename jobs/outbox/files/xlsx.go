package files

import (
	"archive/zip"
	"encoding/xml"
	"errors"
	"fmt"
	"path"
	"strings"
)

// These are the limits of an XLSX file. Excel's own sheets have 1,048,576 rows at most.
const (
	largestWorkbook = 256 << 20 // bytes as stored
	largestPart     = 2 << 30   // bytes of a part after decompression
	mostParts       = 10_000    // files in the archive
	largestStrings  = 64 << 20  // bytes of the texts that cells share, which are kept in memory
	mostStrings     = 2 << 20   // how many such texts
	largestElement  = 2 << 20   // bytes of XML for a row, or for a text with its formatting
	deepest         = 32        // nested elements
)

// A workbook is an XLSX file: a ZIP archive of XML parts.
type workbook struct {
	zip      *zip.Reader
	sheets   []sheet
	from1904 bool     // days are counted from 1904
	shared   []string // the texts that cells share, by the index that cells have
	styles   []style  // styles of numbers, by the index that cells have
}

// A sheet is the name of a sheet, and the part that contains it.
type sheet struct{ name, part string }

// open reads the workbook's list of sheets, its styles and its shared texts. want is the name of
// the sheet to read, or empty for any.
func (b *workbook) open(want string) error {
	root, err := b.relations("", "_rels/.rels")
	if err != nil {
		return err
	}
	main := root.byType("/officeDocument")
	if main == "" {
		return errors.New("is a zip, and no XLSX file: it has no workbook; pack files by gzip or zstd")
	}
	links, err := b.relations(path.Dir(main), path.Join(path.Dir(main), "_rels", path.Base(main)+".rels"))
	if err != nil {
		return err
	}
	names := 0
	err = b.each(main, func(x *partReader, at xml.StartElement) error {
		switch at.Name.Local {
		case "workbookPr":
			b.from1904 = attribute(at, "date1904") == "1" || attribute(at, "date1904") == "true"
		case "sheet":
			name, link := attribute(at, "name"), links.target[attribute(at, "id")]
			if names++; link != "" && (want == "" || name == want) {
				b.sheets = append(b.sheets, sheet{name, link})
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case b.sheets == nil && want != "":
		return fmt.Errorf("none of its %d sheets has the name that format: {sheet} says", names)
	case b.sheets == nil:
		return errors.New("is an XLSX file without a sheet")
	}
	if err := b.readStyles(links.byType("/styles")); err != nil {
		return err
	}
	return b.readStrings(links.byType("/sharedStrings"))
}

// relations holds, by ID, the parts to which a part refers, and their types.
type relations struct{ target, kind map[string]string }

// relations reads the relations in the part with this name. Their targets are relative to dir.
func (b *workbook) relations(dir, name string) (relations, error) {
	r := relations{map[string]string{}, map[string]string{}}
	return r, b.each(name, func(_ *partReader, at xml.StartElement) error {
		if at.Name.Local != "Relationship" || len(r.target) > mostParts {
			return nil
		}
		id, target := attribute(at, "Id"), attribute(at, "Target")
		if !strings.HasPrefix(target, "/") {
			target = path.Join(dir, target)
		}
		r.target[id], r.kind[id] = strings.TrimPrefix(target, "/"), attribute(at, "Type")
		return nil
	})
}

// byType returns a part whose type ends in suffix.
func (r relations) byType(suffix string) string {
	for id, kind := range r.kind {
		if strings.HasSuffix(kind, suffix) {
			return r.target[id]
		}
	}
	return ""
}

// readStrings reads the texts that cells share.
func (b *workbook) readStrings(part string) error {
	if part == "" {
		return nil
	}
	size := 0
	return b.each(part, func(x *partReader, at xml.StartElement) error {
		if at.Name.Local != "si" {
			return nil
		}
		s, err := x.text()
		if size += len(s); err == nil && (size > largestStrings || len(b.shared) >= mostStrings) {
			err = fmt.Errorf("has more than %d MiB of texts, or %d of them; save the sheet as CSV", largestStrings>>20,
				mostStrings)
		}
		b.shared = append(b.shared, s)
		return err
	})
}
