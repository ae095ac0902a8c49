package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"cloud.google.com/go/civil"
)

// A batch is the content of an object with records, each of another partition of one week and all under its number. Planning needs a
// handful of objects for many partitions that way, and a window takes two writes: its doubts, and what became of them.
//
// The number fences the week: whoever creates number n has read all objects below n, and none of them has recorded one of its
// partitions since it looked. Who finds n taken reads it, and goes on with n+1 if n was about other partitions.
type batch struct {
	records []Record
	old     bool // it is the single record of an earlier version, whose numbers were the partition's own
}

// MarshalJSON implements json.Marshaler.
func (b batch) MarshalJSON() ([]byte, error) { return json.Marshal(b.records) }

// UnmarshalJSON takes the single record of earlier versions too. It was written on top of the number before its own.
func (b *batch) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		var read bool
		if b.records, read = decodeEntries(string(data)); read {
			return nil
		}
		b.records = nil
		return strictly(data, &b.records)
	}
	var e Record
	err := strictly(data, &e)
	e.After = e.Seq - 1
	b.records, b.old = []Record{e}, true
	return err
}

// readBatch reads the records under a key, and checks that they belong there.
func (t *Table) readBatch(ctx context.Context, key string) (b batch, err error) {
	if b, ours := t.wrote(key); ours {
		return b, nil
	}
	if err := t.ledger.read(ctx, key, &b); err != nil {
		return b, err
	}
	return b, t.belongs(key, b)
}

// belongs finds records under the key of others.
func (t *Table) belongs(key string, b batch) error {
	first, number, _ := parseEntryKey(key)
	seen := map[civil.Date]bool{}
	for _, e := range b.records {
		there := e.Seq == number && e.After < number && !seen[e.Partition]
		if b.old && e.Partition != first || !b.old && weekOf(e.Partition) != first || !there {
			return &DamagedError{Location: t.ledger.location(key), Err: fmt.Errorf("record %d of %s doesn't belong there", e.Seq, e.Partition)}
		}
		seen[e.Partition] = true
	}
	if len(b.records) == 0 {
		return &DamagedError{Location: t.ledger.location(key), Err: errors.New("it has no record")}
	}
	return nil
}

// strictly refuses fields that a record doesn't have.
func strictly(data []byte, to any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(to)
}
