package files

import (
	"archive/zip"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	// mostExpanded is how many times its stored size a file may become by decompression, once the
	// first freeExpanded bytes have come out. Records have random identifiers, and don't reach 20.
	mostExpanded = 200
	freeExpanded = 16 << 20
	// largestWindow is the largest zstd window in bytes that is accepted, because it is held in
	// memory. Files packed by up to zstd -19 need 8 MiB.
	largestWindow = 32 << 20

	readAhead = 64 << 10 // bytes of the readers' buffers
)

// decompress returns the content of a gzip or zstd stream (one layer), and any other stream as it
// is. The caller calls done to free the decoder's memory.
func decompress(in io.Reader) (plain *bufio.Reader, done func(), err error) {
	counted := &countingReader{r: in}
	raw := bufio.NewReaderSize(counted, readAhead)
	head, err := raw.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	var inner io.Reader
	done = func() {}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		if inner, err = gzip.NewReader(raw); err != nil {
			return nil, nil, fmt.Errorf("gzip: %w", err)
		}
	case bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(largestWindow))
		if err != nil {
			return nil, nil, fmt.Errorf("zstd: %w", err)
		}
		inner, done = z, z.Close
	default:
		return raw, done, nil
	}
	return bufio.NewReaderSize(&expansionLimiter{r: inner, packed: counted}, readAhead), done, nil
}

// countingReader counts in n the bytes that are read of the file as it is stored, before
// decompression.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// expansionLimiter protects against decompression bombs: it fails when a file grows to more than
// mostExpanded times its stored size, which packed has counted.
type expansionLimiter struct {
	r      io.Reader
	packed *countingReader
	n      int64 // bytes after decompression
}

func (e *expansionLimiter) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	e.n += int64(n)
	if e.n > freeExpanded && e.n > mostExpanded*e.packed.n {
		return 0, fmt.Errorf("expands to more than %d times its size, which no file of records does", mostExpanded)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("decompress: %w", err)
	}
	return n, err
}

// openZip opens an Excel workbook, or the one file of a ZIP archive. It copies the input into dir
// first, because a zip is read from its end. zipped says that the input itself comes from a ZIP
// archive. The caller calls done when it has read the rows.
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
	// Copy the file, unless it is too large or has too many parts.
	parts := &entryCounter{}
	size, err := io.Copy(io.MultiWriter(file, parts), io.LimitReader(in, largestWorkbook+1))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("copy an XLSX file: %w", err)
	case size > largestWorkbook:
		return nil, nil, fmt.Errorf("is an XLSX or ZIP file of more than %d MiB; save it as CSV, and pack it by "+
			"gzip or zstd", largestWorkbook>>20)
	case parts.n > mostParts:
		return nil, nil, fmt.Errorf("is a zip of more than %d parts; no XLSX file has as many", mostParts)
	}
	// Open the workbook, or the one file of the archive.
	b := &workbook{}
	if b.zip, err = zip.NewReader(file, size); err != nil {
		return nil, nil, fmt.Errorf("begins as an XLSX or ZIP file and can't be read as one: %w", err)
	}
	only, err := b.onlyFile()
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
	packed := &countingReader{n: int64(min(only.CompressedSize64, largestWorkbook))}
	unpacked := &expansionLimiter{r: inner, packed: packed}
	// The error of inner.Close can be ignored: the file is only read.
	r, closed, err := openPlain(bufio.NewReaderSize(unpacked, readAhead), func() { _ = inner.Close() }, m, dir, true)
	return r, func() { closed(); remove() }, err
}

// onlyFile returns the file of a ZIP archive that holds exactly one, and nil for an Excel workbook.
// For any other archive the error says what it is.
func (b *workbook) onlyFile() (only *zip.File, err error) {
	packed := 0
	for _, f := range b.zip.File {
		base := path.Base(f.Name)
		switch {
		case f.Name == "xl/workbook.bin":
			return nil, errors.New("is an XLSB file, Excel's binary form; save it as XLSX or CSV")
		case f.Name == "_rels/.rels" || f.Name == "[Content_Types].xml":
			only, packed = nil, -mostParts // a workbook: packed stays below 0
		case f.Name == "mimetype":
			return nil, errors.New("is an OpenDocument file, such as ODS; save it as XLSX or CSV")
		case strings.HasSuffix(f.Name, ".iwa"):
			return nil, errors.New("is a file of Apple Numbers; export it as XLSX or CSV")
		case strings.HasSuffix(f.Name, "/"), strings.HasPrefix(f.Name, "__MACOSX/"), base == ".DS_Store",
			base == "Thumbs.db":
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

// entryCounter counts a zip's directory entries, by their signature, while the file is copied, so
// that one with too many is refused before its directory is read into memory. tail has the last
// bytes of the writes before, because a signature may be cut.
type entryCounter struct {
	n    int
	tail []byte
}

func (e *entryCounter) Write(p []byte) (int, error) {
	mark := []byte("PK\x01\x02")
	e.n += bytes.Count(p, mark)
	e.tail = append(e.tail, p[:min(len(p), len(mark)-1)]...)
	e.n += bytes.Count(e.tail, mark) // across two writes
	e.tail = append(e.tail[:0], p[max(0, len(p)-len(mark)+1):]...)
	return len(p), nil
}
