// Package telemetry sends what a run does to whoever collects it, by OpenTelemetry. Without it, a
// run that is slow or late would be looked into with its log alone, and beside everything else that
// the same night did.
//
//	steps (package step) ─┬─ traces ──┐
//	                      ├─ metrics ─┼─ OTLP, when the environment names an endpoint
//	the ledger ─ gauges ──┘           └─ GET /metrics of serve
//	log ────────────────── logs ──────── OTLP
//
// The variables are those of OpenTelemetry
// (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/), and their
// own library reads them. Where none of them asks for a signal, nothing of it is started.
package telemetry

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel/attribute"
	nometrics "go.opentelemetry.io/otel/metric/noop"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	notraces "go.opentelemetry.io/otel/trace/noop"

	"github.com/reportferry/reportferry/internal/console"
	"github.com/reportferry/reportferry/internal/telemetry/step"
)

// A Telemetry holds the exporters that were started. A nil one exports nothing.
type Telemetry struct {
	recorder *step.Recorder
	see      atomic.Pointer[func(context.Context) []console.JobStatus] // see Watch; nil: the gauges report nothing
	logs     slog.Handler                                              // nil: logs aren't sent
	parent   trace.SpanContext                                         // the span that started this process
	log      *slog.Logger                                              // gets warnings
	stop     []func(context.Context) error                             // sends what is left, one for each exporter
}

// Options say what process this is.
type Options struct {
	Getenv  func(string) string
	Version string
	Process []attribute.KeyValue // what the platform says of the process
	// ID of the first trace, so that all tasks of an execution are in one; zero: a random one.
	Trace    trace.TraceID
	Reason   func(error) string // the word for the kind of an error
	Log      *slog.Logger       // gets warnings of what could not be sent
	Scrape   sdkmetric.Reader   // reads the metrics for GET /metrics; nil: nobody does
	ManyRuns bool               // the process does many runs, and each is a trace of its own
}

// Asked tells which signals the environment asks for.
func Asked(getenv func(string) string) (traces, metrics, logs bool) {
	asked := func(signal string) bool {
		exporter := getenv("OTEL_" + signal + "_EXPORTER")
		if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || exporter == "none" {
			return false
		}
		return exporter != "" || getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" ||
			getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
	}
	return asked("TRACES"), asked("METRICS"), asked("LOGS")
}

// Start starts the signals that the environment asks for. It returns nil when the environment asks
// for none and nobody scrapes. Nothing is sent yet. A signal that can't be started is left out with
// a warning: a mistake in one of OpenTelemetry's variables mustn't cost a night's data.
func Start(ctx context.Context, o Options) (t *Telemetry, err error) {
	traces, metrics, logs := Asked(o.Getenv)
	if !traces && !metrics && !logs && o.Scrape == nil {
		return nil, nil
	}
	logErrorsOnce(o.Log)
	t = &Telemetry{log: o.Log}
	about := t.attributes(ctx, o)
	if !o.ManyRuns {
		t.parent = parent(ctx, o.Getenv)
	}
	steps := step.Options{Traces: notraces.NewTracerProvider(), Metrics: nometrics.NewMeterProvider(), Reason: o.Reason}
	if traces {
		if exporter, err := autoexport.NewSpanExporter(ctx); t.usable("OTEL_TRACES_EXPORTER", err) {
			p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about),
				sdktrace.WithIDGenerator(&ids{first: o.Trace}))
			steps.Traces, t.stop = p, append(t.stop, p.Shutdown)
		}
	}
	readers := t.readers(ctx, metrics, o.Scrape)
	if len(readers) > 0 {
		p := sdkmetric.NewMeterProvider(append(readers, sdkmetric.WithResource(about),
			sdkmetric.WithCardinalityLimit(mostSeries))...)
		steps.Metrics, t.stop = p, append(t.stop, p.Shutdown)
	}
	if logs {
		if exporter, err := autoexport.NewLogExporter(ctx); t.usable("OTEL_LOGS_EXPORTER", err) {
			p := sdklog.NewLoggerProvider(sdklog.WithResource(about),
				sdklog.WithProcessor(sdklog.NewBatchProcessor(exporter)))
			t.logs, t.stop = otelslog.NewHandler("reportferry", otelslog.WithLoggerProvider(p)),
				append(t.stop, p.Shutdown)
		}
	}
	if t.recorder, err = step.New(steps); err != nil {
		return nil, err
	}
	return t, t.gauges(steps.Metrics.Meter("github.com/reportferry/reportferry"))
}

// usable tells whether what a variable asks for could be started, and warns when it couldn't.
func (t *Telemetry) usable(variable string, err error) bool {
	if err != nil {
		t.log.Warn(variable+" can't be followed, so that is left out; the run itself isn't affected", "error", err)
	}
	return err == nil
}

// readers returns the readers of the metrics: the one that is scraped, and the one that sends them.
func (t *Telemetry) readers(ctx context.Context, sent bool, scrape sdkmetric.Reader) (options []sdkmetric.Option) {
	if scrape != nil {
		options = append(options, sdkmetric.WithReader(scrape))
	}
	if sent {
		if reader, err := autoexport.NewMetricReader(ctx); t.usable("OTEL_METRICS_EXPORTER", err) {
			options = append(options, sdkmetric.WithReader(reader))
		}
	}
	return options
}
