package emulator

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

const adminPrefix = "/_emulator/"

// serveAdmin answers, to callers on this machine only:
//
//	GET  /_emulator/requests        the request log
//	PUT  /_emulator/faults          replace the fault script: a JSON array of Fault
//	POST /_emulator/clock           {"shift": "24h"} moves the data's clock; answers {"now": ...}
//	POST /_emulator/reset-requests  empty the request log
//	GET  /_emulator/spend           what arrived at /cost: a SpendBooks
//	GET  /_emulator/spend-records   every Cost ID of it as CSV: see SpendRecord
//	GET  /_emulator/sharing         ?app_token=&device=[&id_type=][&partner=]: what holds for a device, a SharingState
//	GET  /_emulator/sharing-books   what arrived at /third_party_sharing: a SharingBooks
//	GET  /_emulator/sharing-log     [?app_token=&device=] every arrival in its order as CSV: see SharingArrival
//	GET  /_emulator/sharing-devices what holds for every device as CSV. settings: partner=0 or 1 for each of SharingMetrics,
//	                                of partners that were named, and of all others as *; sharing isn't worked into them
//	POST /_emulator/reset-sharing   forget devices, arrivals and counts
//	GET  /_emulator/apps            what app automation made or updated: ManagedApps
//	PUT  /_emulator/job-faults      replace what fails in jobs: a JSON array of JobFault
//	POST /_emulator/tickets         {"steps": 1, "ticket": ""} lets jobs take steps, "" all of them; answers {"open": ...}
//	POST /_emulator/reset-token     {"token": ...} as a user resets it; answers {"token": ...}, the new one
func (s *Server) serveAdmin(w http.ResponseWriter, r *http.Request) {
	x := &exchange{ResponseWriter: w}
	if !isLocal(r.RemoteAddr) {
		x.fail(&serviceError{status: http.StatusForbidden, code: codeAuth, desc: "The emulator's admin calls are for this machine only"})
		return
	}
	var answer any
	switch call := r.Method + " " + strings.TrimPrefix(r.URL.Path, adminPrefix); call {
	case "GET requests":
		answer = s.Requests()
	case "PUT faults":
		var faults []Fault
		if err := decodeStrict(r, &faults); err != nil {
			x.fail(badRequest("Set faults: %v", err))
			return
		}
		for i := range faults {
			if err := faults[i].validate(); err != nil {
				x.fail(badRequest("Set faults: fault %d: %v", i+1, err))
				return
			}
		}
		s.script.set(faults)
		answer = map[string]int{"faults": len(faults)}
	case "POST clock":
		var body struct {
			Shift string `json:"shift"`
		}
		err := decodeStrict(r, &body)
		var shift time.Duration
		if err == nil {
			shift, err = time.ParseDuration(body.Shift)
		}
		if err != nil {
			x.fail(badRequest("Shift the clock: %v", err))
			return
		}
		s.Shift(shift)
		answer = map[string]time.Time{"now": s.now()}
	case "GET apps", "PUT job-faults", "POST tickets", "POST reset-token":
		var err error
		if answer, err = s.administerApps(r); err != nil {
			x.fail(badRequest("%v", err))
			return
		}
	case "GET spend":
		answer = s.Spend()
	case "GET spend-records":
		s.writeSpendRecords(x)
		return
	case "POST reset-requests":
		s.log.reset()
		answer = struct{}{}
	default:
		var known bool
		if answer, known = s.sharingAdmin(x, r, call); known && answer == nil {
			return // it has answered
		} else if known {
			break
		}
		x.fail(&serviceError{status: http.StatusNotFound, code: codeRequest, desc: "No such admin call: " + r.Method + " " + r.URL.Path})
		return
	}
	x.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(x).Encode(answer)
}

// Shift moves the data's clock by d, so that cohorts mature and spend is restated.
func (s *Server) Shift(d time.Duration) { s.shift.Add(int64(d)) }

func decodeStrict(r *http.Request, into any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// isLocal tells callers on this machine: loopback, the in-process client ("pipe") and direct calls of ServeHTTP ("").
func isLocal(remote string) bool {
	if remote == "" || remote == "pipe" {
		return true
	}
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// writeSpendRecords prints the books record by record.
func (s *Server) writeSpendRecords(x *exchange) {
	x.Header().Set("Content-Type", csvType)
	w := csv.NewWriter(x)
	_ = w.Write([]string{"cost_id", "cost_type", "cost_currency", "cost_amount", "tag", "state", "day", "times", "replaced"})
	for _, r := range s.SpendRecords() {
		_ = w.Write([]string{r.CostID, r.CostType, r.Currency, r.Amount, r.Tag, r.State, r.Day, fmt.Sprint(r.Times), fmt.Sprint(r.Replaced)})
	}
	w.Flush() // a client that is gone needs no answer
}
