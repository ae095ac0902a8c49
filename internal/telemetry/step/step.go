// Package step marks the steps of a run. Without it, every place whose time is worth knowing would
// talk to traces and to metrics by itself, and the two would tell different stories.
//
//	run ─ job ─ unit ─┬─ fetch ─ GET, decode, encode
//	                  ├─ reconcile ─ GET
//	                  └─ put, record
//
// A [Recorder] travels in the context. Where there is none, a step costs a look into the context
// and nothing else, so that the engine has no case of its own for runs that nobody watches. Nothing
// that is recorded has a query's values, an error's text or a token in it: an error is the word for
// its kind.
package step

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// The steps of a run.
const (
	Run       = "run"
	Job       = "job"
	Unit      = "unit"
	Fetch     = "fetch"     // one question to the service, with all its attempts and what is made of the answer
	Decode    = "decode"    // the answer's rows become columns, and pages of them Parquet, while it arrives
	Encode    = "encode"    // the rest becomes files
	Reconcile = "reconcile" // the service's totals, asked for beside the rows
	Put       = "put"       // one partition into one sink
	Record    = "record"    // what the ledger says of a partition
)

// A Step is one piece of a run. The zero Step records nothing.
type Step struct {
	span  trace.Span
	in    *scope
	began time.Time
	name  string // by which its duration is recorded; empty: it isn't
}

// Begin begins a step inside that of ctx.
func Begin(ctx context.Context, name string, about ...attribute.KeyValue) (context.Context, Step) {
	in := scopeOf(ctx)
	if in == nil {
		return ctx, Step{}
	}
	ctx, span := in.tracer.Start(ctx, name, trace.WithAttributes(about...))
	return ctx, Step{span: span, in: in, began: time.Now(), name: name}
}

// BeginRequest begins the step of one attempt to send a request, which the conventions name by its
// method (https://opentelemetry.io/docs/specs/semconv/http/http-spans/).
func BeginRequest(ctx context.Context, method string, about ...attribute.KeyValue) (context.Context, Step) {
	in := scopeOf(ctx)
	if in == nil {
		return ctx, Step{}
	}
	ctx, span := in.tracer.Start(ctx, method, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(about...))
	return ctx, Step{span: span, in: in, began: time.Now()}
}

// Set adds attributes to a step.
func (s Step) Set(about ...attribute.KeyValue) {
	if s.span != nil {
		s.span.SetAttributes(about...)
	}
}

// Fail marks a step as failed, by the word for what went wrong.
func (s Step) Fail(word string) {
	if s.span != nil {
		s.span.SetAttributes(attribute.String("error.type", word))
		s.span.SetStatus(codes.Error, "")
	}
}

// End ends a step. One that was stopped has no error, as nothing went wrong with it.
func (s Step) End(err error) {
	s.EndAt(time.Now(), err)
}

// EndAt ends a step that was over at that time.
func (s Step) EndAt(at time.Time, err error) {
	if s.span == nil {
		return
	}
	switch {
	case errors.Is(err, context.Canceled):
		s.Set(attribute.Bool("reportferry.stopped", true))
	case err != nil:
		s.Fail(s.in.reason(err))
	}
	switch duration := s.in.durations[s.name]; {
	case s.name == Unit:
		duration.Record(context.Background(), at.Sub(s.began).Seconds(), s.in.attributes)
	case duration != nil: // other steps have only a span
		duration.Record(context.Background(), at.Sub(s.began).Seconds())
	}
	s.span.End(trace.WithTimestamp(at))
}

// Event notes something that happened during the step of ctx, such as a wait or a retry, and why.
func Event(ctx context.Context, name, reason string, wait time.Duration) {
	if scopeOf(ctx) != nil {
		trace.SpanFromContext(ctx).AddEvent(name, trace.WithAttributes(attribute.String("reason", reason),
			attribute.Float64("seconds", wait.Seconds())))
	}
}
