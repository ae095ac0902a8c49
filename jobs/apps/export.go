package apps

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ErrColumns says that an export has other columns than the known ones, so that credentials can't be told from the
// rest.
var ErrColumns = errors.New("the export has other columns than section, setting and value among them")

// MaskCSV copies an export of settings without what may be a credential. The interface document doesn't name the
// columns; the ones here are a guess.
func MaskCSV(w io.Writer, from io.Reader) error {
	r := csv.NewReader(from)
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil // nothing matches
	}
	if err != nil {
		return fmt.Errorf("read the export: %w", err)
	}
	header[0] = strings.TrimPrefix(header[0], "\ufeff")
	section, setting, value := slices.Index(header, "section"), slices.Index(header, "setting"), slices.Index(header, "value")
	if section < 0 || setting < 0 || value < 0 {
		return ErrColumns
	}
	out := csv.NewWriter(w)
	_ = out.Write(header) // the error stays in out
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			out.Flush()
			return out.Error()
		}
		if err != nil {
			return fmt.Errorf("read the export: %w", err)
		}
		if hidesAny(append([]string{cells[section]}, strings.Split(cells[setting], ".")...)) {
			cells[value] = notShown
		} else {
			cells[value] = maskText(cells[value])
		}
		_ = out.Write(cells)
	}
}

// hidesAny tells whether a path leads to, or into, a value that is hidden.
func hidesAny(path []string) bool {
	for n := range path {
		if n > 0 && hides(path[:n+1]) {
			return true
		}
	}
	return false
}
