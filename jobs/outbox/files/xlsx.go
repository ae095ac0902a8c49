package files

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

// What an XLSX file may be. Excel itself has sheets of 1,048,576 rows.
const (
	largestBook    = 256 << 20 // as it is stored
	largestPart    = 2 << 30   // unzipped
	mostParts      = 10_000
	largestStrings = 64 << 20 // texts that cells share are kept in memory
	mostStrings    = 2 << 20
	largestElement = 2 << 20 // XML of a row, or of a text with its formatting
	deepest        = 32      // elements in each other
)

// A book is an XLSX file: a zip of XML parts.
type book struct {
	zip     *zip.Reader
	sheet   string // name of the one that is read
	part    string // where it is
	since04 bool   // days are counted from 1904
	shared  []string
	styles  []style // of numbers, by the index that cells have
}

// openBook copies the file into dir, because a zip is read from its end, and finds the sheet. No library does: those that
// there are keep the file in memory, and give rows without saying which cells are numbers and which are texts.
func openBook(in io.Reader, sheet, dir string) (b *book, done func(), err error) {
	file, err := os.CreateTemp(dir, "files-*.xlsx")
	if err != nil {
		return nil, nil, fmt.Errorf("copy an XLSX file: %w", err)
	}
	_ = os.Remove(file.Name()) // a process that is killed must not leave the copy behind
	remove := func() {
		_ = file.Close()           // only read
		_ = os.Remove(file.Name()) // where an open file can't be removed
	}
	defer func() {
		if err != nil {
			remove()
		}
	}()
	parts := &entries{}
	size, err := io.Copy(io.MultiWriter(file, parts), io.LimitReader(in, largestBook+1))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("copy an XLSX file: %w", err)
	case size > largestBook:
		return nil, nil, fmt.Errorf("is an XLSX file of more than %d MiB; save it as CSV", largestBook>>20)
	case parts.n > mostParts:
		return nil, nil, fmt.Errorf("is a zip of more than %d parts; no XLSX file has as many", mostParts)
	}
	b = &book{}
	if b.zip, err = zip.NewReader(file, size); err != nil {
		return nil, nil, fmt.Errorf("begins as an XLSX file and can't be read as one: %w", err)
	}
	return b, remove, b.open(sheet)
}

// entries counts the marks of a zip's parts in what it is given, before the directory takes memory.
type entries struct {
	n    int
	tail []byte
}

func (e *entries) Write(p []byte) (int, error) {
	mark := []byte("PK\x01\x02")
	e.n += bytes.Count(p, mark)
	e.tail = append(e.tail, p[:min(len(p), len(mark)-1)]...)
	e.n += bytes.Count(e.tail, mark) // across two writes
	e.tail = append(e.tail[:0], p[max(0, len(p)-len(mark)+1):]...)
	return len(p), nil
}

// open reads what the book says of itself.
func (b *book) open(want string) error {
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
	err = b.each(main, func(x *parts, at xml.StartElement) error {
		switch at.Name.Local {
		case "workbookPr":
			b.since04 = attribute(at, "date1904") == "1" || attribute(at, "date1904") == "true"
		case "sheet":
			name, link := attribute(at, "name"), links.target[attribute(at, "id")]
			if names++; b.part == "" && link != "" && (want == "" || name == want) {
				b.sheet, b.part = name, link
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case b.part == "" && want != "":
		return fmt.Errorf("none of its %d sheets has the name that format: {sheet} says", names)
	case b.part == "":
		return errors.New("is an XLSX file without a sheet")
	}
	if err := b.readStyles(links.byType("/styles")); err != nil {
		return err
	}
	return b.readStrings(links.byType("/sharedStrings"))
}

// relations are the parts that a part speaks of.
type relations struct{ target, kind map[string]string }

func (b *book) relations(dir, name string) (relations, error) {
	r := relations{map[string]string{}, map[string]string{}}
	return r, b.each(name, func(_ *parts, at xml.StartElement) error {
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

func (r relations) byType(suffix string) string {
	for id, kind := range r.kind {
		if strings.HasSuffix(kind, suffix) {
			return r.target[id]
		}
	}
	return ""
}

// readStrings reads the texts that cells share.
func (b *book) readStrings(part string) error {
	if part == "" {
		return nil
	}
	size := 0
	return b.each(part, func(x *parts, at xml.StartElement) error {
		if at.Name.Local != "si" {
			return nil
		}
		s, err := x.text()
		if size += len(s); err == nil && (size > largestStrings || len(b.shared) >= mostStrings) {
			err = fmt.Errorf("has more than %d MiB of texts, or %d of them; save the sheet as CSV", largestStrings>>20, mostStrings)
		}
		b.shared = append(b.shared, s)
		return err
	})
}

func attribute(at xml.StartElement, name string) string {
	for _, a := range at.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
