package emulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// adminPrefix begins the path of every admin call.
const adminPrefix = "/_emulator/"

// serveAdmin answers, to callers on this machine only:
//
//	GET  /_emulator/requests        the request log
//	PUT  /_emulator/faults          replace the fault script: a JSON array of Fault
//	POST /_emulator/restatements    restate days: a JSON array of Restatement
//	GET  /_emulator/restatements    {"restatements": ...}, those made and those to come; with a report's metrics=&date_period=
//	                                and since=[&until=] {"movements": ...} besides:
//	                                the numbers that changed, see Server.Book
//	POST /_emulator/clock           {"shift": "24h"} moves the data's clock; answers {"now": ...}
//	POST /_emulator/reset-requests  empty the request log
//	GET  /_emulator/spend           what arrived at /cost: a SpendSummary
//	GET  /_emulator/spend-records   every Cost ID of it as CSV: see SpendRecord
//	GET  /_emulator/engagements     [?days=7][&per_day=10][&app_token=] what spend can be posted for, as CSV
//	GET  /_emulator/sharing         ?app_token=&device=[&id_type=][&partner=]: what holds for a device, a SharingState
//	GET  /_emulator/sharing-books   what arrived at /third_party_sharing: a SharingSummary
//	GET  /_emulator/sharing-log     [?app_token=&device=] every arrival in its order as CSV: see SharingArrival
//	GET  /_emulator/sharing-devices what holds for every device as CSV. settings: partner=0 or 1 for each metric, of
//	                                partners that were named, and of all others as *, whatever the column sharing says
//	POST /_emulator/reset-sharing   forget devices, arrivals and counts
//	GET  /_emulator/apps            what app automation made or updated: ManagedApps
//	PUT  /_emulator/job-faults      replace what fails in jobs: a JSON array of JobFault
//	POST /_emulator/tickets         {"steps": 1, "ticket": ""} lets jobs take steps, "" all of them; answers {"open": ...}
//	POST /_emulator/reset-token     {"token": ...} as a user resets it; answers {"token": ...}, the new one
func (s *Server) serveAdmin(x *wire.Exchange, r *http.Request) {
	if !isLocal(r.RemoteAddr) {
		x.Fail(wire.Forbidden("The emulator's admin calls are for this machine only"))
		return
	}
	answer, err := s.administer(x, r, r.Method+" "+strings.TrimPrefix(r.URL.Path, adminPrefix))
	var e *wire.Error
	switch {
	case errors.As(err, &e):
		x.Fail(e)
	case err != nil:
		x.Fail(wire.BadRequest("%v", err))
	case answer != nil:
		x.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(x).Encode(answer) // a client that is gone needs no answer
	}
}

// administer does what an admin call asks for. If it returns neither an answer nor an error, it has
// answered the call itself.
func (s *Server) administer(x *wire.Exchange, r *http.Request, call string) (answer any, err error) {
	switch call {
	case "GET requests":
		return s.Requests(), nil
	case "POST reset-requests":
		s.log.reset()
		return struct{}{}, nil
	case "PUT faults":
		var list []Fault
		err := wire.DecodeStrict(r, &list)
		if err == nil {
			err = s.script.Set(list)
		}
		if err != nil {
			return nil, fmt.Errorf("set faults: %w", err)
		}
		return map[string]int{"faults": len(list)}, nil
	case "POST restatements":
		var list []Restatement
		err := wire.DecodeStrict(r, &list)
		if err == nil {
			err = s.Restate(r.Context(), list...)
		}
		if err != nil {
			return nil, fmt.Errorf("restate: %w", err)
		}
		return map[string]int{"restatements": len(list)}, nil
	case "GET restatements":
		return s.showRestatements(r)
	case "POST clock":
		return s.moveClock(r)
	case "GET engagements":
		return nil, s.listEngagements(x, r)
	case "POST reset-token":
		return s.resetToken(r)
	}
	if answer, known := s.spend.Admin(x, call); known {
		return answer, nil
	}
	if answer, known, err := s.sharing.Admin(x, r, call); known {
		return answer, err
	}
	if answer, known, err := s.apps.Admin(r, call); known {
		return answer, err
	}
	e := wire.NotFound(r)
	e.Desc = "No such admin call: " + r.Method + " " + r.URL.Path
	return nil, e
}

// moveClock shifts the data's clock, and returns the new time.
func (s *Server) moveClock(r *http.Request) (any, error) {
	var body struct {
		Shift string `json:"shift"`
	}
	err := wire.DecodeStrict(r, &body)
	var shift time.Duration
	if err == nil {
		shift, err = time.ParseDuration(body.Shift)
	}
	if err != nil {
		return nil, fmt.Errorf("shift the clock: %w", err)
	}
	s.Shift(shift)
	return map[string]time.Time{"now": s.now()}, nil
}

// showRestatements lists restatements, and the numbers that changed in the report that the call
// describes.
func (s *Server) showRestatements(r *http.Request) (any, error) {
	var answer struct {
		Restatements []Restatement `json:"restatements"`
		Movements    []Movement    `json:"movements,omitempty"`
	}
	list, err := s.Restatements(r.Context())
	answer.Restatements = list
	v := r.URL.Query()
	if err != nil || v.Get("metrics") == "" {
		return answer, err
	}
	since, err := time.Parse(time.RFC3339, v.Get("since"))
	if err != nil {
		return nil, fmt.Errorf("show the book: since %q is not a time such as 2026-03-14T05:00:00Z", v.Get("since"))
	}
	until := s.now()
	if text := v.Get("until"); text != "" {
		if until, err = time.Parse(time.RFC3339, text); err != nil {
			return nil, fmt.Errorf("show the book: until %q is not a time such as 2026-03-14T05:00:00Z", text)
		}
	}
	v.Del("since")
	v.Del("until")
	answer.Movements, err = s.Book(r.Context(), v, since, until)
	return answer, err
}

// listEngagements writes the engagements of the last days, of all apps or one.
func (s *Server) listEngagements(x *wire.Exchange, r *http.Request) error {
	v := r.URL.Query()
	number := func(name string, absent int) (int, error) {
		if v.Get(name) == "" {
			return absent, nil
		}
		n, err := strconv.Atoi(v.Get(name))
		if err != nil || n < 1 {
			return 0, fmt.Errorf("list engagements: %s %q, want a number from 1 on", name, v.Get(name))
		}
		return n, nil
	}
	days, err := number("days", 7)
	perDay, bad := number("per_day", 10)
	if err = errors.Join(err, bad); err != nil {
		return err
	}
	app, now := v.Get("app_token"), s.now()
	if app != "" && s.world.Account().Find(app) < 0 {
		return fmt.Errorf("list engagements: the account has no app %s", app)
	}
	x.Header().Set("Content-Type", wire.CSV)
	_ = WriteEngagements(r.Context(), x, func(yield func(Engagement) bool) { // a client that is gone needs no answer
		for e := range s.Engagements(now.AddDate(0, 0, 1-days), now, perDay) {
			if (app == "" || e.AppToken == app) && !yield(e) {
				return
			}
		}
	})
	return nil
}

func (s *Server) resetToken(r *http.Request) (any, error) {
	var body struct {
		Token string `json:"token"`
	}
	if err := wire.DecodeStrict(r, &body); err != nil {
		return nil, fmt.Errorf("reset a token: %w", err)
	}
	token, ok := s.ResetToken(body.Token)
	if !ok {
		return nil, errors.New("reset a token: it isn't one that is let in")
	}
	return map[string]string{"token": token}, nil
}

// isLocal tells whether a caller is on this machine: by loopback, by the in-process client
// ("pipe"), or by a direct call of ServeHTTP ("").
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
