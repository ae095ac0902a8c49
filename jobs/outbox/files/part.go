package files

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A partReader reads the XML of one part of an XLSX file. The size of its elements is limited,
// because encoding/xml has no limit and keeps a whole text or tag in memory. Entities that a
// document defines are an error in encoding/xml.
type partReader struct {
	name  string
	in    *boundedReader
	close io.Closer
	xml   *xml.Decoder
	depth int // elements that have begun and not ended
}

// openPart opens the part with this name. The caller closes it.
func (b *workbook) openPart(name string) (*partReader, error) {
	for _, f := range b.zip.File {
		if f.Name != name {
			continue
		}
		in, err := f.Open()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		packed := &countingReader{n: int64(min(f.CompressedSize64, largestWorkbook))}
		unpacked := &expansionLimiter{r: &sizeLimiter{r: in}, packed: packed}
		x := &partReader{name: name, in: &boundedReader{r: unpacked, left: largestElement, plain: true}, close: in}
		x.xml = xml.NewDecoder(x.in)
		return x, nil
	}
	return nil, fmt.Errorf("is no XLSX file that can be read: it has no part %q", name)
}

// A sizeLimiter returns an error for a part that expands to more than largestPart bytes.
type sizeLimiter struct {
	r io.Reader
	n int64
}

func (c *sizeLimiter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.n += int64(n); c.n > largestPart {
		return 0, fmt.Errorf("expands to more than %d GiB", largestPart>>30)
	}
	return n, err
}

// next returns the next start of an element, or, if an element ends before, a nil start and the
// name of that element.
func (x *partReader) next() (start *xml.StartElement, end string, err error) {
	for {
		token, err := x.xml.Token()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				err = fmt.Errorf("its part %s: %w", x.name, err)
			}
			return nil, "", err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if x.depth++; x.depth > deepest {
				return nil, "", fmt.Errorf("its part %s has more than %d elements in each other", x.name, deepest)
			}
			return &t, "", nil
		case xml.EndElement:
			x.depth--
			return nil, t.Name.Local, nil
		}
	}
}

// text returns the whole text of the element that has begun, without phonetic hints (rPh).
func (x *partReader) text() (string, error) {
	var text strings.Builder
	outer, quiet := x.depth-1, 0 // quiet is the depth of the phonetic hint that is open; 0: none is
	for {
		token, err := x.xml.Token()
		if err != nil {
			return "", fmt.Errorf("its part %s: %w", x.name, err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if x.depth++; x.depth > deepest {
				return "", fmt.Errorf("its part %s has more than %d elements in each other", x.name, deepest)
			}
			if t.Name.Local == "rPh" && quiet == 0 {
				quiet = x.depth
			}
		case xml.EndElement:
			if x.depth == quiet {
				quiet = 0
			}
			if x.depth--; x.depth == outer {
				return text.String(), nil
			}
		case xml.CharData:
			if quiet == 0 {
				text.Write(t)
			}
		}
	}
}

// refill renews the size limit for the next element.
func (x *partReader) refill() { x.in.left = largestElement }

// each calls do at the start of each element of a part. What do has read itself is passed over.
func (b *workbook) each(name string, do func(*partReader, xml.StartElement) error) error {
	x, err := b.openPart(name)
	if err != nil {
		return err
	}
	defer x.close.Close() //nolint:errcheck // only read
	for {
		start, _, err := x.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && start != nil {
			err = do(x, *start)
		}
		if err != nil {
			return err
		}
		x.refill()
	}
}
