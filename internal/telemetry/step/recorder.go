package step

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// A Recorder records steps in traces and metrics.
type Recorder struct {
	tracer    trace.Tracer
	reason    func(error) string                 // see Options
	durations map[string]metric.Float64Histogram // by the names of steps, and by Request, Limiter and Convert
	counters  map[string]metric.Int64Counter     // by the names of what is counted
}

// Options say where steps are recorded.
type Options struct {
	Traces  trace.TracerProvider
	Metrics metric.MeterProvider
	Reason  func(error) string // the word for the kind of an error
}

// The names of durations that aren't those of steps.
const (
	Request = "request" // one attempt, until its answer is read
	Limiter = "limiter" // the wait of one attempt for the limiter
	Convert = "convert" // an answer's rows into files, without the wait for them to arrive
)

// The names of what is counted.
const (
	Requests = "requests"
	Retries  = "retries"
	Rows     = "rows"
	Bytes    = "bytes"
)

// scopeName is how OpenTelemetry names what records: by its package.
const scopeName = "github.com/reportferry/reportferry"

// bounds are the borders between the buckets of the histograms, in seconds. The conventions' own
// end at 10 s, and a report may take minutes
// (https://opentelemetry.io/docs/specs/semconv/http/http-metrics/).
var bounds = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900}

// New makes a recorder.
func New(o Options) (*Recorder, error) {
	r := &Recorder{tracer: o.Traces.Tracer(scopeName), reason: o.Reason,
		durations: map[string]metric.Float64Histogram{}, counters: map[string]metric.Int64Counter{}}
	meter := o.Metrics.Meter(scopeName)
	var errs []error
	for _, h := range []struct{ key, name, means string }{
		{Request, "http.client.request.duration", "Duration of HTTP client requests."},
		{Limiter, "reportferry.limiter.wait", "Time that an attempt waited for the limiter."},
		{Convert, "reportferry.convert.duration", "Time in which an answer's rows became files."},
		{Put, "reportferry.put.duration", "Time in which a sink took a partition."},
		{Unit, "reportferry.unit.duration",
			"Time of a unit of a job: a window, a file that is pushed, the declared apps."},
	} {
		histogram, err := meter.Float64Histogram(h.name, metric.WithUnit("s"), metric.WithDescription(h.means),
			metric.WithExplicitBucketBoundaries(bounds...))
		r.durations[h.key], errs = histogram, append(errs, err)
	}
	for _, c := range []struct{ key, name, unit, means string }{
		{Requests, "reportferry.requests", "{request}",
			"Attempts to send a request, by the status of the answer; none came where there is no status."},
		{Retries, "reportferry.retries", "{retry}",
			"Attempts after the first one of their request, by what went wrong before."},
		{Rows, "reportferry.rows", "{row}", "Rows of partitions that were fetched, and records that were pushed."},
		{Bytes, "reportferry.io", "By",
			"Bytes of answers as they were read (in), and of files as they were put (out)."},
	} {
		counter, err := meter.Int64Counter(c.name, metric.WithUnit(c.unit), metric.WithDescription(c.means))
		r.counters[c.key], errs = counter, append(errs, err)
	}
	return r, errors.Join(errs...)
}

// scopeKey is the key of the scope in a context.
type scopeKey struct{}

// A scope says which run and job the steps of a context belong to, and what records them.
type scope struct {
	*Recorder  // nil: nothing records them
	run, job   string
	attributes metric.MeasurementOption // the job's name, for counters and durations of units
}

// scopeOf returns the scope of a context, or nil when nothing records its steps.
func scopeOf(ctx context.Context) *scope {
	if in, _ := ctx.Value(scopeKey{}).(*scope); in != nil && in.Recorder != nil {
		return in
	}
	return nil
}

// withScope returns a context with a changed copy of the scope.
func withScope(ctx context.Context, change func(*scope)) context.Context {
	in := scope{attributes: metric.WithAttributes()}
	if outer, _ := ctx.Value(scopeKey{}).(*scope); outer != nil {
		in = *outer
	}
	change(&in)
	return context.WithValue(ctx, scopeKey{}, &in)
}

// In returns a context whose steps r records, or ctx itself when r is nil.
func (r *Recorder) In(ctx context.Context) context.Context {
	if r == nil {
		return ctx
	}
	return withScope(ctx, func(in *scope) { in.Recorder = r })
}

// OfRun returns a context whose steps belong to a run.
func OfRun(ctx context.Context, id string) context.Context {
	return withScope(ctx, func(in *scope) { in.run = id })
}

// OfJob returns a context whose steps and numbers belong to a job.
func OfJob(ctx context.Context, name string) context.Context {
	return withScope(ctx, func(in *scope) {
		in.job, in.attributes = name, metric.WithAttributes(attribute.String("job.name", name))
	})
}

// Of returns the ID of the run and the name of the job that the steps of a context belong to.
// Either is empty outside of one.
func Of(ctx context.Context) (run, job string) {
	if in, _ := ctx.Value(scopeKey{}).(*scope); in != nil {
		return in.run, in.job
	}
	return "", ""
}

// Recorded tells whether anything is recorded.
func Recorded(ctx context.Context) bool { return scopeOf(ctx) != nil }

// Took records a duration that isn't a step's. It has no name of a job, because a histogram has 19
// series for each, and a scrape of a thousand jobs must be short; the unit's duration has the name.
func Took(ctx context.Context, what string, d time.Duration, about ...attribute.KeyValue) {
	if in := scopeOf(ctx); in != nil {
		in.durations[what].Record(ctx, d.Seconds(), metric.WithAttributes(about...))
	}
}

// Count adds n to a counter.
func Count(ctx context.Context, what string, n int64, about ...attribute.KeyValue) {
	if in := scopeOf(ctx); in != nil && n > 0 {
		in.counters[what].Add(ctx, n, in.attributes, metric.WithAttributes(about...))
	}
}
