package raw

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// The Meta of an answer follows the CSV, in a skippable frame of Zstandard (RFC 8878, 3.1.2), which
// every decoder passes over. The frame is the last one of the object, and not the first, because
// readers that tell formats apart by their first bytes want to see a frame of Zstandard there, and
// because only at the end everything is known:
//
//	magic │ n │ n bytes: JSON, and n again
//
// All numbers have four bytes, the lowest first. The second n lets a reader find the frame from the
// end of the object. The JSON has a checksum of its own, as the objects of the ledger do, because
// the SHA-256 covers the CSV alone.
const (
	magic       = 0x184D2A57 // one of the sixteen that the format leaves to its users
	frameHeader = 8          // bytes of magic and n
	usualFrame  = 16 << 10   // bytes at the end of an object that are read first
	longest     = 4 << 20    // bytes of a frame; a query may list thousands of apps
)

// frameVersion is the version of the JSON in frames that this program writes and reads.
const frameVersion = 1

// An envelope is the JSON of a frame.
type envelope struct {
	Version int             `json:"v"`
	Sum     string          `json:"xxh64"`   // of Content; see checksum
	Content json.RawMessage `json:"content"` // a Meta
}

// checksum returns the XXH64 of some bytes in hexadecimal.
func checksum(b []byte) string { return fmt.Sprintf("%016x", xxhash.Sum64(b)) }

// frame returns a skippable frame with the Meta of an answer.
func frame(m Meta) ([]byte, error) {
	text, err := plainJSON(m)
	if err == nil {
		text, err = plainJSON(envelope{frameVersion, checksum(text), text})
	}
	if err != nil {
		return nil, err
	}
	n := uint32(len(text) + 4)
	if n > longest-frameHeader {
		return nil, fmt.Errorf("its request takes %d bytes to describe", n)
	}
	b := binary.LittleEndian.AppendUint32(nil, magic)
	b = binary.LittleEndian.AppendUint32(b, n)
	b = append(b, text...)
	return binary.LittleEndian.AppendUint32(b, n), nil
}

// plainJSON marshals content without escaping the & of a query, for people who read it.
func plainJSON(content any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(content)
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), err
}

// errFrame says that an object doesn't end with a frame as this program writes it.
var errFrame = errors.New("what it says of the answer isn't what was written")

// frameSize returns the size of the frame that an object ends with, header included.
func frameSize(end []byte) (int64, error) {
	if len(end) < frameHeader+4 {
		return 0, errFrame
	}
	n := int64(binary.LittleEndian.Uint32(end[len(end)-4:])) + frameHeader
	if n < frameHeader+4 || n > longest {
		return 0, errFrame
	}
	return n, nil
}

// readFrame parses a whole frame and checks it.
func readFrame(b []byte) (m Meta, err error) {
	text, e := b[frameHeader:len(b)-4], envelope{}
	if binary.LittleEndian.Uint32(b) != magic || int(binary.LittleEndian.Uint32(b[4:])) != len(b)-frameHeader {
		return m, errFrame
	}
	if json.Unmarshal(text, &e) != nil {
		return m, errFrame
	}
	if again, err := plainJSON(e); err != nil || !bytes.Equal(again, text) { // names in other letters, blanks
		return m, errFrame
	}
	if e.Version != frameVersion {
		return m, fmt.Errorf("it has version %d, and this program reads version %d", e.Version, frameVersion)
	}
	if checksum(e.Content) != e.Sum || json.Unmarshal(e.Content, &m) != nil {
		return m, errFrame
	}
	return m, nil
}
