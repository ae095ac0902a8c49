package run

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/reportferry/reportferry/cmd/reportferry/see/console"
	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	pages "github.com/reportferry/reportferry/internal/console"
	"github.com/reportferry/reportferry/internal/telemetry"
)

// scrapeTime is how long the ledger may take to answer a scrape.
const scrapeTime = 8 * time.Second

// ObserveOnce starts the collection that the environment asks for, for one run. It returns the
// context for the run.
func ObserveOnce(ctx context.Context, p *wire.Program, log *slog.Logger) (context.Context, *telemetry.Telemetry,
	error) {
	t, err := startTelemetry(ctx, p, log, nil)
	p.Collected = t.Logs()
	return t.In(ctx), t, err
}

// observeServe starts the collection that the environment asks for, for a process with many runs,
// and returns the handler of GET /metrics. Each run is a trace of its own.
func observeServe(ctx context.Context, p *wire.Program, log *slog.Logger) (*telemetry.Telemetry, http.Handler, error) {
	reader, handler, err := metricsHandler()
	if err != nil {
		return nil, nil, err
	}
	t, err := startTelemetry(ctx, p, log, reader)
	p.Collected = t.Logs()
	return t, handler, err
}

// metricsHandler returns a reader of the metrics, and the handler that shows what it reads.
func metricsHandler() (metric.Reader, http.Handler, error) {
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo())
	return reader, promhttp.HandlerFor(registry, promhttp.HandlerOpts{Timeout: scrapeTime,
		ErrorHandling: promhttp.ContinueOnError}), err
}

// startTelemetry starts the collection. With a reader, the process has many runs and is scraped.
func startTelemetry(ctx context.Context, p *wire.Program, log *slog.Logger, reader metric.Reader) (*telemetry.Telemetry,
	error) {
	getenv := func(name string) string {
		value, _ := p.LookupEnv(name)
		return value
	}
	t, err := telemetry.Start(ctx, telemetry.Options{
		Getenv: getenv, Version: p.Version, Process: p.Task.Process(), Trace: p.Task.Trace(),
		Reason: text.FailureReason,
		Log:    log, Scrape: reader, ManyRuns: reader != nil,
	})
	if err != nil {
		return nil, text.UsageError(err)
	}
	return t, nil
}

// ObserveLedger makes the gauges show what a session's ledger holds. The ledger is read only when
// the metrics are.
func ObserveLedger(t *telemetry.Telemetry, s *wire.Session) error {
	if t == nil {
		return nil
	}
	c, err := console.Of(s)
	if err != nil {
		return err
	}
	t.Watch(func(ctx context.Context) []pages.JobStatus { return c.See(ctx, 0) })
	return nil
}
