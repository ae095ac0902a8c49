package emulator

import (
	"database/sql"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

const sharingPath = "/third_party_sharing"

// sharingRequest is the valid parts of a request.
type sharingRequest struct {
	app           string // its token
	idfa, gpsADID string // one may be missing
	status        int    // 200, or 202 when other parts were invalid
	master        string // "enable", "disable" or nothing
	settings      []setting
	options       []option
}

// The 400 words that are counted by themselves.
const (
	nothingToDo = "Missing parameter: sharing, " + settingsName + " or " + optionsName
	noValidPart = "No valid part"
)

// serveSharing answers POST /third_party_sharing. It isn't in the request log, whose lines would hold device IDs.
//
// A request is read before all waiting, so that two of one device that are under way at a time are noticed, and taken after
// it, so that they would change places.
func (s *Server) serveSharing(w http.ResponseWriter, r *http.Request) {
	x := &exchange{ResponseWriter: w, fault: s.script.next(r, s.now())}
	req, bad, refused := s.readSharing(r)
	if x.fault.refuses() {
		req = sharingRequest{} // of no device
	}
	leave := s.shared.enter(req)
	defer leave()
	if s.struck(x, r, sharingFailed) {
		s.shared.faulted()
		return
	}
	if s.wait(r, s.opts.Latency) != nil {
		panic(http.ErrAbortHandler) // nobody waits for the answer
	}
	var answer reply
	switch {
	case refused == noValidPart:
		answer = sharingReply(http.StatusBadRequest, "error", "Third party sharing failed ("+bad.text()+")")
	case refused != "":
		answer = sharingReply(http.StatusBadRequest, "error", "Third party sharing failed ("+refused+")")
	default:
		if err := s.shared.take(req, s.now().Truncate(time.Second)); err != nil {
			s.opts.Logger.Error("third-party sharing failed", "error", err)
			answer = sharingReply(http.StatusInternalServerError, "error", "Third party sharing failed (Internal error, contact support)")
			break
		}
		answer = sharingReply(http.StatusOK, "status", "OK")
		if bad.any() {
			answer = sharingReply(http.StatusAccepted, "error", "Third party sharing partially failed ("+bad.text()+")")
		}
	}
	leave() // before the client can send its next one
	s.shared.answered(answer.status, refused)
	x.deliver(answer, sharingFailed)
}

func sharingReply(status int, name, words string) reply {
	body, err := json.Marshal(map[string]string{name: words})
	if err != nil {
		panic(err) // texts
	}
	return reply{status: status, contentType: "application/json", body: body}
}

// sharingFailed is the answer of a scripted status.
func sharingFailed(status, retryAfter int) reply {
	a := sharingReply(status, "error", "Third party sharing failed ("+http.StatusText(status)+")")
	a.retryAfter = retryAfter
	return a
}

// readSharing reads and checks a request. refused is why nothing of it is taken, and then req has no device.
func (s *Server) readSharing(r *http.Request) (req sharingRequest, bad issues, refused string) {
	p, refused := readSharingParams(r)
	if refused == "" {
		refused = s.checkSharing(&p, r.Header)
	}
	if refused != "" {
		return req, bad, refused
	}
	got := sharingRequest{app: p.plain[sharingApp], idfa: p.plain[sharingIDFA], gpsADID: p.plain[sharingGPSADID], status: http.StatusOK}
	switch choice := p.plain[sharingSwitch]; choice {
	case "", "enable", "disable":
		got.master = choice
	default:
		bad.add("Invalid sharing", choice)
	}
	got.settings = s.shared.partners.readSettings(p.settings, &bad)
	got.options = s.shared.partners.readOptions(p.options, &bad)
	switch {
	case got.master != "" || len(got.settings) > 0 || len(got.options) > 0:
	case bad.any():
		return req, bad, noValidPart
	default:
		return req, bad, nothingToDo
	}
	if bad.any() {
		got.status = http.StatusAccepted
	}
	return got, bad, ""
}

// checkSharing looks at what no request may lack.
func (s *Server) checkSharing(p *sharingParams, h http.Header) (refused string) {
	app, idfa, gpsADID := p.plain[sharingApp], p.plain[sharingIDFA], p.plain[sharingGPSADID]
	switch {
	case app == "":
		return "Missing parameter: app_token"
	case !s.hasApp(app):
		return "App not found"
	case !s.maySetSharing(app, h):
		return "Failed to authorize request"
	case p.plain[sharingS2S] == "":
		return "Missing parameter: s2s"
	case p.plain[sharingS2S] != "1":
		return "Invalid parameter: s2s"
	case idfa == "" && gpsADID == "":
		return "Missing parameter: idfa or gps_adid"
	case !clean(idfa):
		return "Invalid parameter: idfa"
	case !clean(gpsADID):
		return "Invalid parameter: gps_adid"
	default:
		return ""
	}
}

// hasApp tells apps of the account, made up here or by app automation.
func (s *Server) hasApp(token string) bool {
	for i := range s.apps {
		if s.apps[i].Token == token {
			return true
		}
	}
	if _, known := s.shared.apps.Load(token); known {
		return true
	}
	known := false
	st := statement{text: "SELECT 1 FROM account_apps WHERE token=?", args: []any{token}}
	err := s.store.query(s.closing, st, func(rows *sql.Rows) error {
		known = rows.Next()
		return rows.Err()
	})
	if err != nil {
		s.opts.Logger.Error("app not looked up", "error", err)
	}
	if known {
		s.shared.apps.Store(strings.Clone(token), true)
	}
	return known
}

// maySetSharing asks for a token when there is one of the app.
func (s *Server) maySetSharing(app string, h http.Header) bool {
	sent, bearer := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	sent = strings.TrimSpace(sent)
	asked := false
	for token, of := range s.opts.SharingTokens {
		if of == "" || of == app {
			asked = true
			if bearer && token == sent {
				return true
			}
		}
	}
	return !asked
}
