package transport

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/reportferry/reportferry/internal/telemetry/step"
)

// attempt sends the request once, as a telemetry step of its own. Records are counted but get no
// step, because one file may have as many records as a trace has room for steps.
func (x *exchange) attempt(secret string) *failure {
	if !step.Recorded(x.ctx) {
		return x.send(secret)
	}
	began, before := time.Now(), x.answer.Attempts
	var about step.Step
	if !x.record() {
		_, about = step.BeginRequest(x.ctx, x.method())
	}
	f := x.send(secret)
	if x.answer.Attempts == before {
		about.Set(attribute.Bool("reportferry.stopped", true)) // the request never left the process
		about.End(nil)
		return f
	}
	known := x.attributes(f)
	about.Set(known...)
	about.Set(attribute.String("url.full", x.address()))
	if before > 0 {
		about.Set(attribute.Int("http.request.resend_count", before))
	}
	switch {
	case f != nil && x.ctx.Err() != nil:
		about.Set(attribute.Bool("reportferry.stopped", true))
	case f != nil:
		about.Fail(f.kind())
	}
	about.End(nil)
	step.Took(x.ctx, step.Request, time.Since(began), known...)
	step.Count(x.ctx, step.Requests, 1, statusOf(known)...)
	return f
}

// method returns the request's HTTP method.
func (x *exchange) method() string { return cmp.Or(x.Method, http.MethodGet) }

// attributes returns the attributes that OpenTelemetry's conventions want for a request and its
// answer (https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-client-span).
func (x *exchange) attributes(f *failure) []attribute.KeyValue {
	about := []attribute.KeyValue{attribute.String("http.request.method", x.method())}
	if at, err := url.Parse(x.URL); err == nil {
		about = append(about, attribute.String("server.address", at.Hostname()), attribute.Int("server.port", port(at)))
	}
	status := x.answer.Status
	if f != nil {
		status = f.status
		if x.ctx.Err() == nil {
			about = append(about, attribute.String("error.type", f.kind()))
		}
	} else if status == 0 {
		status = http.StatusOK // an accepted short answer, whose status isn't kept
	}
	if status != 0 {
		about = append(about, attribute.Int("http.response.status_code", status))
	}
	return about
}

// kind returns the failure as the conventions name it: the status, or a word.
func (f *failure) kind() string {
	switch {
	case f.status != 0 && f.status != http.StatusOK:
		return strconv.Itoa(f.status)
	case f.slow:
		return "timeout"
	case f.status == 0:
		return "no_answer"
	}
	return "bad_answer"
}

// statusOf returns only the status, because requests are counted by it.
func statusOf(about []attribute.KeyValue) []attribute.KeyValue {
	for i, a := range about {
		if a.Key == "http.response.status_code" {
			return about[i : i+1]
		}
	}
	return nil
}

// port returns an address's port, or else the usual one of its scheme.
func port(at *url.URL) int {
	if n, err := strconv.Atoi(at.Port()); err == nil {
		return n
	}
	return map[string]int{"http": 80}[at.Scheme] + map[string]int{"https": 443}[at.Scheme]
}

// shownParameters holds the parameters whose values say nothing about a customer. Filters name apps
// and campaigns, and metrics name events.
var shownParameters = map[string]bool{"date_period": true, "utc_offset": true, "currency": true}

// address returns the address of the request. The values of all but shownParameters are
// replaced, as the conventions want for sensitive ones.
func (x *exchange) address() string {
	at, err := url.Parse(x.URL)
	if err != nil {
		return ""
	}
	at.User, at.Fragment = nil, ""
	q := at.Query()
	for name := range q {
		if !shownParameters[name] {
			q[name] = []string{"REDACTED"}
		}
	}
	at.RawQuery = q.Encode()
	return x.scrubber.scrub(at.String())
}

// recordWait records a wait for the limiter, or for the end of a pause that an answer asked for.
func (x *exchange) recordWait(why string, d time.Duration) {
	step.Took(x.ctx, step.Limiter, d)
	if d >= time.Millisecond {
		step.Event(x.ctx, "wait", cmp.Or(why, "limiter"), d)
	}
}

// recordRetry records that another attempt follows.
func (x *exchange) recordRetry(f *failure, wait time.Duration) {
	step.Event(x.ctx, "retry", f.kind(), wait)
	step.Count(x.ctx, step.Retries, 1, attribute.String("reason", f.kind()))
}
