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

// flushTime is how long the process waits at its end until the recorded data is sent.
const flushTime = 5 * time.Second

// Close sends the data that is left, also when ctx is over. It waits for five seconds at most. A
// failure is only logged as a warning, because the result of the run isn't affected.
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

// onceHandler logs each message once, because what can't be sent fails again every few seconds.
type onceHandler struct {
	log    *slog.Logger
	mu     sync.Mutex
	logged map[string]bool // by message
}

// addresses matches URLs. They contain user names, passwords and parameters, which may be secret.
var addresses = lazy.Regexp(`https?://[^\s"]+`)

// logErrorsOnce makes the library's errors be logged, each once and without addresses, instead of
// printed.
func logErrorsOnce(log *slog.Logger) {
	otel.SetErrorHandler(&onceHandler{log: log, logged: map[string]bool{}})
}

// Handle logs an error.
func (t *onceHandler) Handle(err error) {
	text := addresses().ReplaceAllString(err.Error(), "[address]")
	t.mu.Lock()
	again := t.logged[text] || len(t.logged) > 100
	t.logged[text] = true
	t.mu.Unlock()
	if !again {
		t.log.Warn("telemetry could not be sent; the run itself isn't affected", "error", text)
	}
}
