package telemetry

import (
	"context"
	crand "crypto/rand"
	"log/slog"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
)

// about says what process this is. What the user sets in OTEL_RESOURCE_ATTRIBUTES and
// OTEL_SERVICE_NAME goes before.
func (t *Telemetry) about(ctx context.Context, o Options) *resource.Resource {
	ours := append([]attribute.KeyValue{attribute.String("service.name", "reportferry"),
		attribute.String("service.version", o.Version)}, o.Process...)
	r, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(ours...), resource.WithFromEnv())
	t.can("OTEL_RESOURCE_ATTRIBUTES", err) // what could be read of it is there
	return r
}

// parent is the span that began this process, as TRACEPARENT names it
// (https://www.w3.org/TR/trace-context/). What can't be read is none, as the standard wants it.
func parent(ctx context.Context, getenv func(string) string) trace.SpanContext {
	from := propagation.MapCarrier{"traceparent": getenv("TRACEPARENT"), "tracestate": getenv("TRACESTATE")}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(ctx, from))
}

// In gives a context whose steps are recorded, below the span that began this process.
func (t *Telemetry) In(ctx context.Context) context.Context {
	if t == nil {
		return ctx
	}
	if t.parent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, t.parent)
	}
	return t.recorder.In(ctx)
}

// Logs takes a log's records to the collector; nil: nobody collects them.
func (t *Telemetry) Logs() slog.Handler {
	if t == nil {
		return nil
	}
	return t.logs
}

// ids makes random IDs, but for the trace of the first span without a parent.
type ids struct {
	mu    sync.Mutex
	first trace.TraceID
}

// NewIDs are those of a span without a parent.
func (g *ids) NewIDs(ctx context.Context) (id trace.TraceID, span trace.SpanID) {
	g.mu.Lock()
	id, g.first = g.first, trace.TraceID{}
	g.mu.Unlock()
	if !id.IsValid() {
		_, _ = crand.Read(id[:]) // never fails (crypto/rand)
	}
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID is that of a span inside a trace.
func (*ids) NewSpanID(context.Context, trace.TraceID) (span trace.SpanID) {
	_, _ = crand.Read(span[:]) // never fails (crypto/rand)
	return span
}
