package raw

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/civil"
)

// A Request is what was asked for.
type Request struct {
	Table string     `json:"table"` // the store fills it in
	From  civil.Date `json:"from"`
	Until civil.Date `json:"until"` // not included
	Query string     `json:"query"` // of the URL; a credential is never in it
	Tool  string     `json:"tool"`  // the store fills it in
}

// An Answer is what came back, beside the content.
type Answer struct {
	Status  int               `json:"status"`            // 200, or 204 without a content
	Headers map[string]string `json:"headers,omitempty"` // as OfUse gives them
	Fetched time.Time         `json:"fetched"`           // start of the first attempt
	Bytes   int64             `json:"bytes"`             // of the content, decompressed
	SHA256  string            `json:"sha256"`            // of the content, hexadecimal; Commit fills it in
}

// A Meta is all that is known of a kept answer.
type Meta struct {
	Request
	Answer
}

// useful are the headers by which an answer can be dated, and found in the service's own logs.
var useful = []string{
	"Age", "Content-Encoding", "Content-Length", "Content-Type", "Date", "Etag", "Last-Modified", "Server", "Via",
	"Cf-Ray", "Traceparent", "X-Amz-Cf-Id", "X-Amzn-Trace-Id", "X-Cloud-Trace-Context",
}

// An answer has so many useful headers of so many bytes at most; what is beyond that is left out.
const (
	mostHeaders   = 24
	longestHeader = 200
)

// OfUse picks the headers that are kept. Cookies and credentials never are, because only names that
// are known to be harmless are taken.
func OfUse(all http.Header) map[string]string {
	kept := map[string]string{}
	for name, values := range all {
		value := strings.Join(values, ", ")
		if (slices.Contains(useful, name) || isID(name)) && len(value) <= longestHeader && len(kept) < mostHeaders {
			kept[name] = value
		}
	}
	return kept
}

// isID tells whether a header names the request, whatever its maker called that.
func isID(name string) bool {
	return slices.ContainsFunc([]string{"Request-Id", "Requestid", "Correlation-Id", "Trace-Id"},
		func(end string) bool {
			return strings.HasSuffix(name, end)
		})
}
