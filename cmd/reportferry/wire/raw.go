package wire

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/jobs/raw"
	"github.com/reportferry/reportferry/sinks"
)

// Raw opens the store that keeps the answers of a report job as they come. It returns nil when the
// config names no store, and when only the ledger is read.
func (s *Session) Raw(ctx context.Context, c config.Job) (*raw.Store, error) {
	if s.ReadOnly || c.Report == nil || c.Report.Raw.URL == "" {
		return nil, nil
	}
	r := c.Report.Raw
	dir, err := bucket.Folder(r.URL)
	if err != nil {
		return nil, fmt.Errorf("job %s: raw: %w", c.Name, text.RefusedError(err))
	}
	b, err := s.bucket(ctx, r.URL)
	if err != nil {
		return nil, fmt.Errorf("job %s: raw: %w", c.Name, err)
	}
	return raw.Open(raw.Options{
		Bucket: b, Dir: dir, URL: sinks.Redact(r.URL), Table: c.Table, Tool: "reportferry/" + s.Version,
		Keep: time.Duration(r.KeepDays) * 24 * time.Hour, Must: r.Required, Piece: pieceOf(r.URL),
	}), nil
}

// pieceOf returns the size of the pieces of one upload in bytes, which is the memory that it takes:
// as little as the store accepts. S3 accepts no piece under 5 MiB.
func pieceOf(rawURL string) int {
	if strings.HasPrefix(rawURL, "s3:") {
		return 5 << 20
	}
	return 1 << 20
}
