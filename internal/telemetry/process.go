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

// attributes returns the attributes of this process. Those that the user sets in
// OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME take precedence.
func (t *Telemetry) attributes(ctx context.Context, o Options) *resource.Resource {
	ours := append([]attribute.KeyValue{attribute.String("service.name", "reportferry"),
		attribute.String("service.version", o.Version)}, o.Process...)
	r, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(ours...), resource.WithFromEnv())
	t.usable("OTEL_RESOURCE_ATTRIBUTES", err) // r has those attributes that could be read
	return r
}

// parent returns the span that started this process, from TRACEPARENT
// (https://www.w3.org/TR/trace-context/). An invalid value counts as none, as the standard demands.
func parent(ctx context.Context, getenv func(string) string) trace.SpanContext {
	from := propagation.MapCarrier{"traceparent": getenv("TRACEPARENT"), "tracestate": getenv("TRACESTATE")}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(ctx, from))
}

// In returns a context whose steps are recorded, below the span that started this process.
func (t *Telemetry) In(ctx context.Context) context.Context {
	if t == nil {
		return ctx
	}
	if t.parent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, t.parent)
	}
	return t.recorder.In(ctx)
}

// Logs returns the handler that sends log records to the collector; nil if nothing collects them.
func (t *Telemetry) Logs() slog.Handler {
	if t == nil {
		return nil
	}
	return t.logs
}

// ids makes random IDs, except that the first trace without a parent gets the ID in the field
// first.
type ids struct {
	mu    sync.Mutex
	first trace.TraceID
}

// NewIDs returns the IDs for a span without a parent.
func (g *ids) NewIDs(ctx context.Context) (id trace.TraceID, span trace.SpanID) {
	g.mu.Lock()
	id, g.first = g.first, trace.TraceID{}
	g.mu.Unlock()
	if !id.IsValid() {
		_, _ = crand.Read(id[:]) // never fails (crypto/rand)
	}
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID returns the ID for a span in a given trace.
func (*ids) NewSpanID(context.Context, trace.TraceID) (span trace.SpanID) {
	_, _ = crand.Read(span[:]) // never fails (crypto/rand)
	return span
}
