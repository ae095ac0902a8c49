package spend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gocloud.dev/blob"

	"github.com/reportferry/reportferry/jobs/outbox"
)

// A file of spend is read by the outbox, twice. What has expired is judged by one clock for both readings.
type file struct {
	bucket *blob.Bucket
	key    string
	check  *checker
	spool  string
	now    time.Time
	names  []string
}

// Stat pins the file by what its store knows: an ETag where there is one, and size and time in any case.
func (f *file) Stat(ctx context.Context) (outbox.Stat, error) {
	a, err := f.bucket.Attributes(ctx, f.key)
	if err != nil {
		return outbox.Stat{}, fmt.Errorf("look at the file: %w", err)
	}
	return outbox.Stat{Version: version(a.ETag, a.Size, a.ModTime), Modified: a.ModTime, Size: a.Size}, nil
}

func version(etag string, size int64, modified time.Time) string {
	return fmt.Sprintf("%s %d %s", etag, size, modified.UTC().Format(time.RFC3339Nano))
}

// Header names the original cells.
func (f *file) Header() []string { return f.names }

// Read reads the file once.
func (f *file) Read(ctx context.Context, sending bool, each func(*outbox.Record[Record]) error) (err error) {
	in, err := f.bucket.NewReader(ctx, f.key, nil)
	if err != nil {
		return fmt.Errorf("open the file: %w", err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	var o outbox.Record[Record]
	return read(ctx, in, f.check, f.spool, func(names []string) { f.names = names }, func(l *line) error {
		o = outbox.Record[Record]{Row: l.row}
		switch {
		case l.refused != nil:
			o.Refusal = &outbox.Rejection{Field: l.refused.Field, Reason: l.refused.Reason}
		default:
			o.ID, o.Content, o.Value = l.record.ID(), l.record.Content(), l.record
			if l.record.Expired(f.now) {
				o.Expired, o.Refusal = true, expired()
			}
		}
		if sending || o.Refusal != nil {
			o.Cells = slices.Clone(l.cells())
		}
		return each(&o)
	})
}

func expired() *outbox.Rejection {
	return &outbox.Rejection{Field: names[engagedAt], Reason: isExpired}
}
