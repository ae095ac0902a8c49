// Package collector is a collector of OTLP over HTTP for tests. Without it, only the sender's own
// code could say what was sent. It reads the protocol with the types that OpenTelemetry publishes
// for it, and uses nothing of the SDK.
package collector

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	logs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	metrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metric "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A Collector keeps what it is sent.
type Collector struct {
	URL string

	mu       sync.Mutex
	raw      bytes.Buffer // all that came, as bytes
	headers  []http.Header
	resource *resource.Resource
	spans    []*trace.Span
	metrics  map[string]*metric.Metric // the latest of each name
}

// Start starts a collector on a loopback address until the test ends.
func Start(t testing.TB) *Collector {
	c := &Collector{metrics: map[string]*metric.Metric{}}
	mux := http.NewServeMux()
	for path, take := range map[string]func([]byte) error{"/v1/traces": c.takeSpans, "/v1/metrics": c.takeMetrics,
		"/v1/logs": readLogs} {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			if err := c.take(r, take); err != nil {
				t.Errorf("%s: %v", path, err)
				http.Error(w, err.Error(), http.StatusBadRequest)
			}
		})
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// take keeps the body of a request, and has decode read it.
func (c *Collector) take(r *http.Request, decode func([]byte) error) error {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(body)
		if err != nil {
			return err
		}
		body = z
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(data)
	c.headers = append(c.headers, r.Header)
	return decode(data)
}

// takeSpans keeps the spans of a request.
func (c *Collector) takeSpans(data []byte) error {
	var got traces.ExportTraceServiceRequest
	err := proto.Unmarshal(data, &got)
	for _, r := range got.ResourceSpans {
		c.resource = r.Resource
		for _, s := range r.ScopeSpans {
			c.spans = append(c.spans, s.Spans...)
		}
	}
	return err
}

// takeMetrics keeps the metrics of a request.
func (c *Collector) takeMetrics(data []byte) error {
	var got metrics.ExportMetricsServiceRequest
	err := proto.Unmarshal(data, &got)
	for _, r := range got.ResourceMetrics {
		for _, s := range r.ScopeMetrics {
			for _, m := range s.Metrics {
				c.metrics[m.Name] = m
			}
		}
	}
	return err
}

// readLogs only checks that logs can be decoded. Tests find their content in Raw.
func readLogs(data []byte) error { return proto.Unmarshal(data, new(logs.ExportLogsServiceRequest)) }

// Raw returns the bytes of all that came, for tests that look for what must not be in them.
func (c *Collector) Raw() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.raw.String()
}

// Spans returns the spans in the order in which they came.
func (c *Collector) Spans() []*trace.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spans
}

// Metrics returns the latest numbers, by name.
func (c *Collector) Metrics() map[string]*metric.Metric {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.metrics
}

// Resource returns the attributes that describe the sender of the spans.
func (c *Collector) Resource() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Texts(c.resource.GetAttributes())
}

// Texts returns attributes with their values as text.
func Texts(list []*common.KeyValue) map[string]string {
	texts := map[string]string{}
	for _, a := range list {
		texts[a.Key] = text(a.Value)
	}
	return texts
}
