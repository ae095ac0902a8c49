package parquet

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// Texts holds the texts of one column of a row group: a dictionary of the distinct ones and, once
// they hardly repeat, the texts themselves, as the pages have them. The row groups of a pool have
// much the same texts, so they share one table to look them up (words), but each has its own
// dictionary indexes.
type Texts struct {
	words *textTable // of the pool
	// The text's index in the dictionary plus one, by its index in words; 0, or no element, for a
	// text that isn't in the dictionary.
	ids       []uint32
	order     []uint32 // the dictionary: indexes in words
	sealed    int      // the size of the dictionary when the last page was made
	size      int64    // bytes of the dictionary's texts
	raw       bool     // the texts from here on go into plain, not into the dictionary
	plain     []byte   // the texts of the next page, in Parquet's PLAIN encoding
	low, high []byte   // bounds of all that went into plain in this row group; nil before the first
}

// ID finds or adds a text that isn't NULL, and returns its dictionary index. It also returns its
// XXH64, which is kept for callers that hash their cells. It is not ok when the text isn't valid
// UTF-8.
func (t *Texts) ID(text []byte) (id uint32, hash uint64, ok bool) {
	word, hash, ok := t.words.ID(text)
	if !ok {
		return 0, 0, false
	}
	if int(word) < len(t.ids) && t.ids[word] > 0 {
		return t.ids[word] - 1, hash, true
	}
	t.size += int64(len(text))
	return t.add(word), hash, true
}

// add adds a text to the dictionary.
func (t *Texts) add(word uint32) (id uint32) {
	id = uint32(len(t.order))
	t.order = append(t.order, word)
	t.setID(word, id)
	return id
}

// setID has ID return a dictionary index for the text of an index in words.
func (t *Texts) setID(word, id uint32) {
	if n := int(word) + 1 - len(t.ids); n > 0 {
		t.ids = append(t.ids, make([]uint32, n)...)
	}
	t.ids[word] = id + 1
}

// end ends the dictionary: the texts from here on go into plain.
func (t *Texts) end() { t.raw, t.ids = true, nil }

// Raw tells how the caller must add the next cells: by Append when true, else by ID. It only
// changes at a Commit.
func (t *Texts) Raw() bool { return t.raw }

// Append adds the next text that isn't NULL. It returns false when the text isn't valid UTF-8.
func (t *Texts) Append(text []byte) bool {
	if !utf8.Valid(text) {
		return false
	}
	t.plain = binary.LittleEndian.AppendUint32(t.plain, uint32(len(text)))
	t.plain = append(t.plain, text...)
	switch {
	case t.low == nil:
		t.low, t.high = append([]byte{}, text...), append([]byte{}, text...)
	case bytes.Compare(text, t.low) < 0:
		t.low = append(t.low[:0], text...)
	case bytes.Compare(text, t.high) > 0:
		t.high = append(t.high[:0], text...)
	}
	return true
}

// reindex moves the dictionary's texts from the old table to the new one, t.words, with their new
// indexes.
func (t *Texts) reindex(old *textTable) {
	t.ids = nil
	for id, word := range t.order {
		word, _, _ = t.words.ID(old.text(word))
		t.order[id] = word
		if !t.raw {
			t.setID(word, uint32(id))
		}
	}
}

// weight estimates the memory that the texts take, from their number and size alone.
func (t *Texts) weight() int64 { return t.held() + int64(8*len(t.order)+len(t.plain)) }

// held estimates the memory that the dictionary's texts take in words.
func (t *Texts) held() int64 { return t.size + int64(wordBytes*len(t.order)) }

// bytes returns the memory in use, without that of words.
func (t *Texts) bytes() int64 { return int64(4*cap(t.ids) + 4*cap(t.order) + cap(t.plain)) }

// reset forgets the texts and keeps the memory.
func (t *Texts) reset() {
	clear(t.ids)
	*t = Texts{words: t.words, ids: t.ids[:0], order: t.order[:0], plain: t.plain[:0]}
}

// appendPlain appends the dictionary in PLAIN encoding: the size of each text in four bytes, then
// its bytes.
func (t *Texts) appendPlain(dst []byte) []byte {
	for _, word := range t.order {
		text := t.words.text(word)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(text)))
		dst = append(dst, text...)
	}
	return dst
}
