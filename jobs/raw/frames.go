package raw

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// What is said of an answer stands behind the CSV, in a skippable frame of Zstandard (RFC 8878,
// 3.1.2), which every decoder passes over. It is the last one, and not the first, because readers
// that tell formats apart by their first bytes want to see a frame of Zstandard there, and because
// only at the end everything is known:
//
//	magic │ n │ n bytes: JSON, and n again
//
// All numbers have four bytes, the lowest first. The second n lets a reader find the frame from the
// end of the object. The JSON has a checksum of its own, as the objects of the ledger do, because
// the SHA-256 covers the CSV alone.
const (
	magic       = 0x184D2A57 // one of the sixteen that the format leaves to its users
	frameHeader = 8
	usualFrame  = 16 << 10 // what is read first of an object's end
	longest     = 4 << 20  // of a frame; a query may list thousands of apps
)

const frameVersion = 1

type envelope struct {
	Version int             `json:"v"`
	Sum     string          `json:"xxh64"`
	Content json.RawMessage `json:"content"`
}

func checksum(b []byte) string { return fmt.Sprintf("%016x", xxhash.Sum64(b)) }

// frame is a skippable frame that says what is known of an answer.
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

// plainJSON leaves the & of a query as it is, for people.
func plainJSON(content any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(content)
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), err
}

var errFrame = errors.New("what it says of the answer isn't what was written")

// frameSize is the size of the frame, all included, that an object ends with.
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

// readFrame reads a whole frame.
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
