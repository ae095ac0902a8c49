package bqtest

import (
	"encoding/json"
	"fmt"
	"net/http"

	bq "google.golang.org/api/bigquery/v2"
)

// A refusal is an answer with another status than 2xx, or an error of a job.
// https://cloud.google.com/bigquery/docs/error-messages
type refusal struct {
	status  int
	reason  string
	message string
}

func (r *refusal) Error() string { return fmt.Sprintf("%d %s: %s", r.status, r.reason, r.message) }

// proto returns the refusal as a job's error.
func (r *refusal) proto() *bq.ErrorProto {
	return &bq.ErrorProto{Reason: r.reason, Message: r.message}
}

// reasonStatus has the HTTP status of each reason, from the table of error messages.
var reasonStatus = map[string]int{
	"accessDenied":             http.StatusForbidden,
	"authError":                http.StatusUnauthorized,
	"backendError":             http.StatusServiceUnavailable,
	"badRequest":               http.StatusBadRequest,
	"conditionNotMet":          http.StatusPreconditionFailed,
	"duplicate":                http.StatusConflict,
	"internalError":            http.StatusInternalServerError,
	"invalid":                  http.StatusBadRequest,
	"invalidQuery":             http.StatusBadRequest,
	"notFound":                 http.StatusNotFound,
	"notImplemented":           http.StatusNotImplemented,
	"quotaExceeded":            http.StatusForbidden,
	"rateLimitExceeded":        http.StatusForbidden,
	"resourceInUse":            http.StatusBadRequest,
	"resourcesExceeded":        http.StatusBadRequest,
	"responseTooLarge":         http.StatusForbidden,
	"stopped":                  http.StatusOK,
	"tableUnavailable":         http.StatusBadRequest,
	"jobBackendError":          http.StatusBadRequest,
	"jobInternalError":         http.StatusBadRequest,
	"jobRateLimitExceeded":     http.StatusBadRequest,
	"blocked":                  http.StatusForbidden,
	"billingNotEnabled":        http.StatusForbidden,
	"billingTierLimitExceeded": http.StatusBadRequest,
	"timeout":                  http.StatusBadRequest,
}

// refuse makes a refusal with the status of its reason.
func refuse(reason, format string, args ...any) *refusal {
	return &refusal{status: reasonStatus[reason], reason: reason, message: fmt.Sprintf(format, args...)}
}

// statusWords has the words by which Google's JSON APIs name statuses.
var statusWords = map[int]string{
	http.StatusBadRequest:          "INVALID_ARGUMENT",
	http.StatusUnauthorized:        "UNAUTHENTICATED",
	http.StatusForbidden:           "PERMISSION_DENIED",
	http.StatusNotFound:            "NOT_FOUND",
	http.StatusConflict:            "ALREADY_EXISTS",
	http.StatusPreconditionFailed:  "FAILED_PRECONDITION",
	http.StatusTooManyRequests:     "RESOURCE_EXHAUSTED",
	http.StatusInternalServerError: "INTERNAL",
	http.StatusNotImplemented:      "UNIMPLEMENTED",
	http.StatusServiceUnavailable:  "UNAVAILABLE",
}

// writeRefusal writes the error body of Google's JSON APIs.
func writeRefusal(w http.ResponseWriter, r *refusal) {
	type item struct {
		Message string `json:"message"`
		Domain  string `json:"domain"`
		Reason  string `json:"reason"`
	}
	body := map[string]any{"error": map[string]any{
		"code": r.status, "message": r.message, "status": statusWords[r.status],
		"errors": []item{{r.message, "global", r.reason}},
	}}
	writeJSON(w, r.status, body)
}

// writeJSON answers with a body in JSON.
func writeJSON(w http.ResponseWriter, status int, body any) {
	b, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("encode answer: %v", err)) // the body is always a value of this package
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_, _ = w.Write(b)
}
