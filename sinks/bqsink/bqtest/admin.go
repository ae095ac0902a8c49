package bqtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

const adminPrefix = "/_bqtest/"

// serveAdmin lets another process do what a test in this one does by methods:
//
//	PUT  /_bqtest/faults    [Fault, ...]        SetFaults
//	PUT  /_bqtest/quotas    Quotas              SetQuotas
//	PUT  /_bqtest/denied    ["permission", ...] SetDenied
//	POST /_bqtest/advance   "90s"               Advance
//	GET  /_bqtest/requests                      Requests; DELETE is ForgetRequests
//	GET  /_bqtest/tables                        Tables
//	GET  /_bqtest/jobs                          Jobs
//	GET  /_bqtest/rows?table=p.d.t$20260101     Rows
//
// Only callers on this machine are heard.
func (s *Server) serveAdmin(w http.ResponseWriter, r *http.Request) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if ip := net.ParseIP(host); err == nil && ip != nil && !ip.IsLoopback() {
		http.Error(w, "only from this machine", http.StatusForbidden)
		return
	}
	answer, err := s.admin(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

func (s *Server) admin(r *http.Request) (any, error) {
	what := r.Method + " " + r.URL.Path[len(adminPrefix):]
	switch what {
	case "PUT faults":
		var faults []Fault
		if err := strictly(r.Body, &faults); err != nil {
			return nil, fmt.Errorf("set faults: %w", err)
		}
		for i := range faults {
			if err := faults[i].validate(); err != nil {
				return nil, fmt.Errorf("set faults: fault %d: %w", i+1, err)
			}
		}
		s.SetFaults(faults...)
		return len(faults), nil
	case "PUT quotas":
		var q Quotas
		if err := strictly(r.Body, &q); err != nil {
			return nil, fmt.Errorf("set quotas: %w", err)
		}
		s.SetQuotas(q)
		return q, nil
	case "PUT denied":
		var permissions []string
		if err := strictly(r.Body, &permissions); err != nil {
			return nil, fmt.Errorf("set denied: %w", err)
		}
		s.SetDenied(permissions...)
		return permissions, nil
	case "POST advance":
		var text string
		if err := strictly(r.Body, &text); err != nil {
			return nil, fmt.Errorf("advance: %w", err)
		}
		d, err := time.ParseDuration(text)
		if err != nil {
			return nil, fmt.Errorf("advance: %w", err)
		}
		s.Advance(d)
		return text, nil
	case "GET requests":
		return s.Requests(), nil
	case "DELETE requests":
		s.ForgetRequests()
		return "forgotten", nil
	case "GET tables":
		return s.Tables(), nil
	case "GET jobs":
		return s.Jobs(), nil
	case "GET rows":
		return s.Rows(r.URL.Query().Get("table"))
	}
	return nil, fmt.Errorf("%s isn't an admin call", what)
}

// strictly refuses a misspelt name, which would mean nothing.
func strictly(body io.Reader, into any) error {
	b, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(into)
}
