package raw

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/civil"
)

// A Request describes the request that an answer came to.
type Request struct {
	Table string     `json:"table"` // the store fills it in
	From  civil.Date `json:"from"`
	Until civil.Date `json:"until"` // not included
	Query string     `json:"query"` // of the URL; a credential is never in it
	Tool  string     `json:"tool"`  // the store fills it in
}

// An Answer describes the service's answer, without the content itself.
type Answer struct {
	Status  int               `json:"status"`            // 200, or 204 without a content
	Headers map[string]string `json:"headers,omitempty"` // as OfUse returns them
	Fetched time.Time         `json:"fetched"`           // when the first attempt began
	Bytes   int64             `json:"bytes"`             // of the content, decompressed
	SHA256  string            `json:"sha256"`            // of the content, hexadecimal; Commit fills it in
}

// A Meta is what the object of a kept answer says about it.
type Meta struct {
	Request
	Answer
}

// keptHeaders are the headers by which an answer can be dated, and found in the service's own logs.
var keptHeaders = []string{
	"Age", "Content-Encoding", "Content-Length", "Content-Type", "Date", "Etag", "Last-Modified", "Server", "Via",
	"Cf-Ray", "Traceparent", "X-Amz-Cf-Id", "X-Amzn-Trace-Id", "X-Cloud-Trace-Context",
}

// Limits of the headers that are kept: their number, and the bytes of each. Others are left out.
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
		if (slices.Contains(keptHeaders, name) || isID(name)) && len(value) <= longestHeader &&
			len(kept) < mostHeaders {
			kept[name] = value
		}
	}
	return kept
}

// isID tells whether a header holds an ID of the request, which different servers call differently.
func isID(name string) bool {
	return slices.ContainsFunc([]string{"Request-Id", "Requestid", "Correlation-Id", "Trace-Id"},
		func(end string) bool { return strings.HasSuffix(name, end) })
}
