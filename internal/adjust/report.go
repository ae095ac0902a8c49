package adjust

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/adjust/transport"
	"github.com/reportferry/reportferry/internal/lazy"
)

// CSVReport asks for one report and hands each attempt's body, CSV in UTF-8 under a header of
// slugs, to read. When an answer breaks off, the whole attempt is repeated, so read must start anew
// each time it is called, and discard what it made of an earlier call. An answer is accepted only
// when read has returned nil and the end of the answer was reached. An error of read that isn't the
// answer's fault ends the call at once. After a 204 the Answer is Empty, and read isn't called. For
// a zone by name, and for more apps or metrics than an address has room for, read may get several
// answers joined into one.
func (c *Client) CSVReport(ctx context.Context, q ReportQuery, read func(io.Reader) error) (Answer, error) {
	op := "csv_report " + q.period()
	query, err := q.Encode()
	if err != nil {
		return Answer{}, &Error{Op: op, Err: err}
	}
	address := c.reportsURL("csv_report") + "?"
	parts, err := q.parts(address, query, c.maxURL)
	if err != nil {
		return Answer{}, &Error{Op: op, Err: err, AnyDays: true}
	}
	if len(parts) > 1 || q.Zone != nil && q.Offset() == "" {
		return c.fetchPieces(ctx, q, parts, read)
	}
	a, err := c.ask(ctx, transport.Request{
		Op: op, URL: address + query,
		Types: reportTypes, Never: "<{[", Count: true, Report: true, Splittable: q.Splittable, Read: read,
	})
	var e *Error
	if !errors.As(err, &e) {
		return a, err
	}
	text := e.Message
	if e.Err != nil {
		text += " " + e.Err.Error()
	}
	switch e.Status {
	case http.StatusBadRequest:
		e.Metric, e.AnyDays = refusedMetric(text, q.Metrics), refusedQuery(text)
		if e.Metric == "" {
			e.Apps = q.appsIn(text)
		}
		e.AnyDays = e.AnyDays && (len(e.Apps) == 0 || len(e.Apps) == len(q.Filters[appTokenIn]))
	case http.StatusForbidden:
		e.Apps = q.appsIn(text)
	case http.StatusRequestURITooLong, http.StatusRequestHeaderFieldsTooLarge:
		e.AnyDays = true
		e.Err = fmt.Errorf("the query has %d bytes, which is too long for the service: set a smaller max_url under "+
			"service, or divide the metrics, or the apps of a filter, among several tables", len(query))
	}
	return a, err
}

// csvTypes are the content types that a file of CSV may have.
var csvTypes = []string{"text/csv", "application/csv", "text/comma-separated-values", "text/plain",
	"application/octet-stream"}

// reportTypes are the content types that a report may have. The only one that is documented is
// application/json, so it is the body that shows what an answer is.
var reportTypes = append(slices.Clone(csvTypes), "application/json")

// The service's words about a metric or dimension that it doesn't have, an app that isn't there,
// and a metric whose event is gone. They are in no document: all were seen by authors of other
// clients.
var (
	unsupportedMetric = lazy.Regexp(`(?i)\bunsupported metrics?\b\W*(\w.*)`)
	unsupportedOther  = lazy.Regexp(`(?i)\bunsupported (?:dimension|filter|attribute)s?\b|\bno apps? matching\b`)
	lostEvent         = lazy.Regexp(`(?i)(.*?)\W*\b(?:the |this )?(?:event )?doesn['’]t exist or was renamed`)
)

// refusedQuery tells whether a 400 is about something that is the same whatever days are asked for.
func refusedQuery(message string) bool {
	return unsupportedMetric().MatchString(message) || lostEvent().MatchString(message) ||
		unsupportedOther().MatchString(message)
}

// refusedMetric returns the metric that a 400 is about, one of those asked for if possible; "" if
// it is about something else.
func refusedMetric(message string, asked []string) string {
	if m := unsupportedMetric().FindStringSubmatch(message); m != nil {
		word, _, _ := strings.Cut(m[1], " ")
		return namedMetric(m[1], word, asked)
	}
	if m := lostEvent().FindStringSubmatch(message); m != nil {
		return namedMetric(m[1], m[1][strings.LastIndex(m[1], " ")+1:], asked)
	}
	return ""
}

// namedMetric returns the metric that a text is about: of those asked for the one that the text
// names first, or else one that belongs to the event whose slug is word, or else word itself.
func namedMetric(text, word string, asked []string) string {
	first, at := "", len(text)
	for _, slug := range asked {
		where := regexp.MustCompile(`(?:^|\W)` + regexp.QuoteMeta(slug) + `(?:\W|$)`).FindStringIndex(text)
		if where != nil && (where[0] < at || where[0] == at && len(slug) > len(first)) {
			first, at = slug, where[0]
		}
	}
	if first != "" {
		return first
	}
	word = strings.Trim(word, "\"'`.,;:()[]{}")
	for _, slug := range asked {
		if word != "" && strings.HasPrefix(slug, word+"_") {
			return slug
		}
	}
	return word
}
