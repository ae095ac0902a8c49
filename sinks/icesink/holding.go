package icesink

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"cloud.google.com/go/civil"
	"github.com/apache/iceberg-go"

	"github.com/reportferry/reportferry/sinks"
)

// A holding is what a partition has in a snapshot.
type holding struct {
	at    place
	files []iceberg.DataFile

	oldest int64 // the oldest sequence number among the files
	erased int64 // the newest sequence number of a delete file; 0 when there is none
}

// whole reports whether no delete file affects the files. A delete file may affect rows whose
// sequence number isn't greater than its own (https://iceberg.apache.org/spec/#scan-planning).
func (h *holding) whole() bool { return h.erased < h.oldest || h.erased == 0 }

// holdings returns what the table's current snapshot holds, by partition. The place with the zero
// date has the rows of no partition that a put could replace, such as those without a date.
func (t *loadedTable) holdings(ctx context.Context) (map[place]*holding, error) {
	if t.byPlace != nil {
		return t.byPlace, nil
	}
	held := map[place]*holding{}
	snapshot := t.CurrentSnapshot()
	if snapshot == nil {
		t.byPlace = held
		return held, nil
	}
	manifests, err := snapshot.Manifests(t.files)
	if err != nil {
		return nil, fmt.Errorf("read the list of manifests: %w", err)
	}
	for _, m := range manifests {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for entry, err := range m.Entries(t.files, true) {
			if err != nil {
				return nil, fmt.Errorf("read the manifest %s: %w", m.FilePath(), err)
			}
			file := entry.DataFile()
			at := t.placeOf(file)
			h := held[at]
			if h == nil {
				h = &holding{at: at}
				held[at] = h
			}
			switch sequence := entry.SequenceNum(); {
			case file.ContentType() != iceberg.EntryContentData:
				h.erased = max(h.erased, sequence)
			case len(h.files) == 0:
				h.files, h.oldest = []iceberg.DataFile{file}, sequence
			default:
				h.files, h.oldest = append(h.files, file), min(h.oldest, sequence)
			}
		}
	}
	t.byPlace = held
	return held, nil
}

// placeOf returns the partition of a file. The place has the zero date if the file's partition
// isn't one that a put could replace.
func (t *loadedTable) placeOf(file iceberg.DataFile) place {
	at := place{table: t.Identifier()[len(t.Identifier())-1]}
	spec := t.Metadata().PartitionSpecByID(int(file.SpecID()))
	if spec == nil || spec.Len() > 1 {
		return at
	}
	if spec.Len() == 0 {
		at.first = sinks.Whole
		return at
	}
	switch day := file.Partition()[spec.Field(0).FieldID].(type) {
	case iceberg.Date:
		at.first = epoch.AddDays(int(day))
	case int32:
		at.first = epoch.AddDays(int(day))
	}
	return at
}

// epoch is the day from which Iceberg counts days.
var epoch = civil.Date{Year: 1970, Month: 1, Day: 1}

// stamp returns the stamp of a partition's file, if that is the only file, this program wrote it,
// and none of its rows are deleted.
func (h *holding) stamp() (of stamp, ours bool) {
	if len(h.files) != 1 || !h.whole() {
		return of, false
	}
	return h.at.stampOf(h.files[0].FilePath())
}

// digest returns a name for a state that this program didn't make, from the names of its files.
func (h *holding) digest() string {
	var names []string
	for _, f := range h.files {
		names = append(names, f.FilePath())
	}
	slices.Sort(names)
	return fmt.Sprintf("files-%x", sha256.Sum256(fmt.Append(nil, names, h.whole())))[:30]
}

// size returns the size of all files, in bytes.
func (h *holding) size() (n int64) {
	for _, f := range h.files {
		n += f.FileSizeBytes()
	}
	return n
}
