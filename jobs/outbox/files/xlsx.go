package files

import (
	"archive/zip"
	"bufio"
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
	sheets  []sheet
	since04 bool // days are counted from 1904
	shared  []string
	styles  []style // of numbers, by the index that cells have
}

// A sheet is the name of one, and the part that it is in.
type sheet struct{ name, part string }

// openZip copies the file into dir, because a zip is read from its end, and opens the workbook, or the one file, that it is.
func openZip(in io.Reader, m Mapping, dir string, zipped bool) (r rows, done func(), err error) {
	file, err := os.CreateTemp(dir, "files-*.xlsx")
	if err != nil {
		return nil, func() {}, fmt.Errorf("copy an XLSX file: %w", err)
	}
	_ = os.Remove(file.Name()) // a process that is killed must not leave the copy behind
	remove := func() {
		_ = file.Close()           // only read
		_ = os.Remove(file.Name()) // where an open file can't be removed
	}
	defer func() {
		if err != nil {
			remove()
			r, done = nil, func() {}
		}
	}()
	parts := &entries{}
	size, err := io.Copy(io.MultiWriter(file, parts), io.LimitReader(in, largestBook+1))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("copy an XLSX file: %w", err)
	case size > largestBook:
		return nil, nil, fmt.Errorf("is an XLSX or ZIP file of more than %d MiB; save it as CSV, and pack it by gzip or zstd", largestBook>>20)
	case parts.n > mostParts:
		return nil, nil, fmt.Errorf("is a zip of more than %d parts; no XLSX file has as many", mostParts)
	}
	b := &book{}
	if b.zip, err = zip.NewReader(file, size); err != nil {
		return nil, nil, fmt.Errorf("begins as an XLSX or ZIP file and can't be read as one: %w", err)
	}
	only, err := b.only()
	switch {
	case err != nil:
		return nil, nil, err
	case only == nil:
		if err = b.open(m.Format.Sheet); err == nil {
			r, err = openSheet(b, m)
		}
		return r, remove, err
	case zipped:
		return nil, nil, errors.New("is a ZIP archive in a ZIP archive; unpack it")
	}
	inner, err := only.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("is a ZIP archive whose file can't be read: %w", err)
	}
	unpacked := &expanding{r: inner, packed: &counter{n: int64(min(only.CompressedSize64, largestBook))}}
	r, closed, err := openPlain(bufio.NewReaderSize(unpacked, readAhead), func() { _ = inner.Close() }, m, dir, true) // only read
	return r, func() { closed(); remove() }, err
}

// only gives the one file of a ZIP archive that somebody has packed; nil: it is an Excel file. Any other is named as what it is.
func (b *book) only() (only *zip.File, err error) {
	packed := 0
	for _, f := range b.zip.File {
		base := path.Base(f.Name)
		switch {
		case f.Name == "xl/workbook.bin":
			return nil, errors.New("is an XLSB file, Excel's binary form; save it as XLSX or CSV")
		case f.Name == "_rels/.rels" || f.Name == "[Content_Types].xml":
			only, packed = nil, -mostParts
		case f.Name == "mimetype":
			return nil, errors.New("is an OpenDocument file, such as ODS; save it as XLSX or CSV")
		case strings.HasSuffix(f.Name, ".iwa"):
			return nil, errors.New("is a file of Apple Numbers; export it as XLSX or CSV")
		case strings.HasSuffix(f.Name, "/"), strings.HasPrefix(f.Name, "__MACOSX/"), base == ".DS_Store", base == "Thumbs.db":
		default:
			only = f
			packed++
		}
	}
	switch {
	case packed < 0:
		return nil, nil
	case packed == 0:
		return nil, errors.New("is a ZIP archive without a file")
	case packed > 1:
		return nil, fmt.Errorf("is a ZIP archive of %d files, and one is read; unpack it", packed)
	case only.Flags&1 != 0:
		return nil, errors.New("is a ZIP archive with a password; unpack it")
	}
	return only, nil
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
