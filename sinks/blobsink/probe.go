package blobsink

import (
	"context"
	"fmt"

	"github.com/reportferry/reportferry/sinks"
)

// Probe writes, reads and deletes an object below the sink's prefix.
func (s *Sink) Probe(ctx context.Context) error {
	if err := sinks.ProbeBucket(ctx, s.bucket, ""); err != nil {
		return fmt.Errorf("probe %s: %w", s.url, err)
	}
	return nil
}
