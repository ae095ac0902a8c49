package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/reportferry/reportferry/internal/lazy"
)

// flushTime is how long the process waits at its end for what was recorded to be sent.
const flushTime = 5 * time.Second

// Close sends what is left, for five seconds at most, also when ctx is over. What couldn't be sent
// is a warning: the data of the run is where it belongs.
func (t *Telemetry) Close(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for _, stop := range t.stop {
		wg.Go(func() {
			if err := stop(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	wg.Wait()
	t.stop = nil
	if err := errors.Join(errs...); err != nil {
		otel.Handle(err)
	}
}

// onceHandler remembers which messages were logged: what can't be sent fails again every few
// seconds.
type onceHandler struct {
	log  *slog.Logger
	mu   sync.Mutex
	seen map[string]bool
}

// addresses have user names, passwords and parameters, and each may be a secret.
var addresses = lazy.Regexp(`https?://[^\s"]+`)

// silence has the library's errors logged, each once and without addresses, rather than printed.
func silence(log *slog.Logger) {
	otel.SetErrorHandler(&onceHandler{log: log, seen: map[string]bool{}})
}

// Handle logs an error.
func (t *onceHandler) Handle(err error) {
	text := addresses().ReplaceAllString(err.Error(), "[address]")
	t.mu.Lock()
	again := t.seen[text] || len(t.seen) > 100
	t.seen[text] = true
	t.mu.Unlock()
	if !again {
		t.log.Warn("telemetry could not be sent; the run itself isn't affected", "error", text)
	}
}
