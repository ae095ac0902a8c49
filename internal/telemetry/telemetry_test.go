package telemetry

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"github.com/reportferry/reportferry/internal/console"
	"github.com/reportferry/reportferry/internal/telemetry/collector"
	"github.com/reportferry/reportferry/internal/telemetry/step"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for _, p := range pairs {
			if n, value, _ := strings.Cut(p, "="); n == name {
				return value
			}
		}
		return ""
	}
}

// A signal is sent when a variable asks for it, and only then.
func TestAsked(t *testing.T) {
	for _, c := range []struct {
		env                   string
		traces, metrics, logs bool
	}{
		{"", false, false, false},
		{"OTEL_SERVICE_NAME=x TRACEPARENT=00-1", false, false, false},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c", true, true, true},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_LOGS_EXPORTER=none", true, true, false},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c", true, false, false},
		{"OTEL_METRICS_EXPORTER=console", false, true, false},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_SDK_DISABLED=True", false, false, false},
	} {
		if traces, metrics, logs := Asked(env(strings.Fields(c.env)...)); traces != c.traces || metrics != c.metrics ||
			logs != c.logs {
			t.Errorf("%s: traces %v, metrics %v, logs %v", c.env, traces, metrics, logs)
		}
	}
}

// Where nobody asks, nothing is started, and everything may be called.
func TestNothingIsStartedUnasked(t *testing.T) {
	before := runtime.NumGoroutine()
	none, err := Start(t.Context(),
		Options{Getenv: env("TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")})
	if none != nil || err != nil {
		t.Fatal(none, err)
	}
	ctx := none.In(t.Context())
	none.Watch(func(context.Context) []console.JobStatus { panic("the ledger is read") })
	_, s := step.Begin(ctx, step.Unit)
	s.End(errors.New("failed"))
	none.Close(ctx)
	if ctx != t.Context() || none.Logs() != nil || runtime.NumGoroutine() != before {
		t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
	}
}

// The first trace of a task is that of its execution, and later ones are others.
func TestTracesOfATask(t *testing.T) {
	c := collector.Start(t)
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", c.URL+"/v1/traces")
	id := trace.TraceID{1, 2, 3}
	started, err := Start(t.Context(), Options{Getenv: env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=x"), Trace: id,
		Log: slog.New(slog.DiscardHandler), ManyRuns: true, Reason: error.Error})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, s := step.Begin(started.In(t.Context()), step.Run)
		s.End(nil)
	}
	started.Close(t.Context())
	traces := map[string]int{}
	for _, s := range c.Spans() {
		traces[string(s.TraceId)]++
	}
	if len(traces) != 3 || traces[string(id[:])] != 1 {
		t.Errorf("spans by trace: %v", traces)
	}
}

// What can't be sent is a warning without the address, within the time that a process has for it.
func TestWhatCantBeSentIsAWarning(t *testing.T) {
	var log bytes.Buffer
	address := "http://127.0.0.1:1/secret-path"
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
	o := Options{Getenv: env("OTEL_EXPORTER_OTLP_ENDPOINT=" + address), Log: slog.New(slog.NewTextHandler(&log, nil)),
		Reason: error.Error}
	started, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(started.In(t.Context()))
	_, s := step.Begin(ctx, step.Run)
	s.End(nil)
	stop()
	began := time.Now()
	started.Close(ctx)
	if took := time.Since(began); took > flushTime+time.Second ||
		!strings.Contains(log.String(), "could not be sent") || strings.Contains(log.String(), "secret-path") {
		t.Errorf("after %v: %s", took, log.String())
	}
	lines := strings.Count(log.String(), "\n")
	for range 3 {
		otel.Handle(errors.New("again: https://user:password@host/x"))
	}
	if strings.Count(log.String(), "\n") != lines+1 || strings.Contains(log.String(), "password") {
		t.Errorf("one error thrice: %s", log.String())
	}
}

// A variable that can't be followed leaves out its signal, and nothing else.
func TestASlipLeavesOutOneSignal(t *testing.T) {
	c := collector.Start(t)
	for name, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL, "OTEL_METRICS_EXPORTER": "otpl", "OTEL_LOGS_EXPORTER": "smoke",
		"OTEL_RESOURCE_ATTRIBUTES": "nothing, team=marketing",
	} {
		t.Setenv(name, value)
	}
	var log bytes.Buffer
	started, err := Start(t.Context(), Options{Getenv: os.Getenv, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Reason: error.Error})
	if err != nil {
		t.Fatal(err)
	}
	_, s := step.Begin(started.In(t.Context()), step.Run)
	s.End(nil)
	started.Close(t.Context())
	if len(c.Spans()) != 1 || c.Resource()["service.name"] != "reportferry" || started.Logs() != nil {
		t.Errorf("%d spans of %v", len(c.Spans()), c.Resource())
	}
	for _, want := range []string{"OTEL_METRICS_EXPORTER can't be followed", "OTEL_LOGS_EXPORTER can't be followed",
		"OTEL_RESOURCE_ATTRIBUTES can't be followed"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("there is no %s in\n%s", want, log.String())
		}
	}
}
