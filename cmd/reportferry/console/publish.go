package console

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/sinks/blobsink"
)

// publishTime is how long the pages may take after a run. Cloud Run and cron wait for them.
const publishTime = 2 * time.Minute

// publishing lets the runs of one process write pages one after the other: two at once would each drop what the other has listed.
var publishing sync.Mutex

// Publish writes the pages to the place that the config names, if it names one. A run that was stopped leaves them to the next one,
// because it must end in seconds.
func Publish(ctx context.Context, s *wire.Session) (err error) {
	if s.Config.Export == "" || ctx.Err() != nil {
		return nil
	}
	publishing.Lock()
	defer publishing.Unlock()
	ctx, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	c, err := Of(s)
	if err != nil {
		return err
	}
	b, err := blobsink.OpenBucket(ctx, s.Config.Export)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	_, err = c.Export(ctx, b)
	return err
}
