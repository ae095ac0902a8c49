package ledger

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"
)

// A stored document is one line of JSON: a version, a random token, a checksum over the content, and the content. Because of the checksum
// a damaged one is an error and is never taken for a missing one. The token makes each write another text, so that no version of a store
// that digests contents ever comes back. A line longer than 4 KiB is compressed as one Zstandard frame.
type stored struct {
	Version int             `json:"v"`
	Token   string          `json:"token"`
	Sum     string          `json:"xxh64"`
	Content json.RawMessage `json:"content"`
}

const (
	documentVersion = 2
	plainDocument   = 4 << 10
	// mostDocument bounds what a document takes in memory.
	mostDocument = 256 << 20
)

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd} // RFC 8878, 3.1.1

var coders = sync.OnceValues(func() (c struct {
	*zstd.Encoder
	*zstd.Decoder
}, err error) {
	if c.Encoder, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)); err != nil {
		return c, err
	}
	c.Decoder, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(mostDocument))
	return c, err
})

func encodeDocument(content []byte) ([]byte, error) {
	if len(content) > mostDocument {
		return nil, fmt.Errorf("it would have %d MiB, and %d MiB is the most", len(content)>>20, mostDocument>>20)
	}
	data, err := json.Marshal(stored{documentVersion, rand.Text(), checksum(content), content})
	if data = append(data, '\n'); err != nil || len(data) <= plainDocument {
		return data, err
	}
	c, err := coders()
	if err != nil {
		return nil, err
	}
	return c.EncodeAll(data, nil), nil
}

// decodeDocument checks an object and gives its content.
func decodeDocument(data []byte) (content []byte, err error) {
	if bytes.HasPrefix(data, zstdMagic) {
		c, err := coders()
		if err == nil {
			data, err = c.DecodeAll(data, nil)
		}
		if err != nil {
			return nil, err
		}
	}
	var s stored
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	if s.Version != documentVersion {
		return nil, &versionError{s.Version, documentVersion}
	}
	if is := fmt.Sprintf("%016x", xxhash.Sum64(s.Content)); is != s.Sum {
		return nil, fmt.Errorf("checksum is %s, its content gives %s", s.Sum, is)
	}
	return s.Content, nil
}

// parse makes a new copy of a content; without any it is the zero T.
func parse[T any](raw []byte) (content T, err error) {
	if raw == nil {
		return content, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err = dec.Decode(&content); err == nil && dec.More() {
		err = errors.New("something follows the content")
	}
	return content, err
}

// marshal gives the content as json.Marshal would embed it, so that the checksum is over the same bytes.
func marshal(content any) ([]byte, error) { return json.Marshal(content) }
