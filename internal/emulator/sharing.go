package emulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
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

// sharingOptions say whose settings are taken.
type sharingOptions struct {
	tokens   map[string]string // Bearer tokens, and the app each is of, "" for any; an app with none isn't asked for one
	channels []string          // the partners of the channel setup, in its order, which partner_1, partner_2... count
	partners []string          // partners besides
	hasApp   func(token string) (bool, error)
	kept     bool // an answer waits until its line is in the file
	now      func() time.Time
	logger   *slog.Logger
}

// sharingService answers POST /third_party_sharing and keeps what each device of an app shares with whom.
type sharingService struct {
	opts  sharingOptions
	books *sharingBooks
	apps  sync.Map // tokens that are known to be apps of the account
}

// newSharing makes the endpoint with empty books.
func newSharing(db *store, o sharingOptions) (*sharingService, error) {
	if slices.Contains(o.partners, "") {
		return nil, errors.New("a sharing partner without a name")
	}
	s := &sharingService{opts: o, books: newSharingBooks(makeSharingPartners(o.channels, o.partners))}
	s.books.log, s.books.kept = newLog(db, "sharing"), o.kept
	for token, app := range o.tokens {
		if token == "" || app != "" && !s.hasApp(app) {
			return nil, fmt.Errorf("sharing token %q of app %q: want a token, and an app of the account or none", token, app)
		}
	}
	return s, nil
}

// replay makes the books of what the log of a kept file comes to. It is called once, before the first request.
func (s *sharingService) replay() error { return s.books.replay() }

// close waits until all that was taken is in the file, and returns what couldn't be written.
func (s *sharingService) close() error { return s.books.log.settle() }

// summary sums up what arrived at /third_party_sharing. A kept file's earlier arrivals count, but for those that were
// refused.
func (s *sharingService) summary() sharingSummary { return s.books.summary() }

// stateOf is what holds for a device. idType is idfa or gps_adid; "" is the one that something was said of, idfa first.
func (s *sharingService) stateOf(app, idType, device string) sharingState {
	return s.books.stateOf(app, idType, device)
}

// arrivals hands out, in the order of taking, what was taken until now, as long as yield wants more.
func (s *sharingService) arrivals(yield func(sharingArrival) bool) error {
	return s.books.arrivals(yield)
}

// reset forgets all devices, the log and the counts.
func (s *sharingService) reset() error { return s.books.reset() }

// serve answers POST /third_party_sharing.
//
// A request is read before all waiting, so that two of one device that are under way at a time are noticed, and taken
// after it, so that they would change places.
func (s *sharingService) serve(x *exchange, r *http.Request) {
	req, bad, refused := s.readSharing(r)
	if x.fault.refuses() {
		req = sharingRequest{} // of no device
	}
	leave := s.books.enter(req)
	defer leave()
	if x.struck(r, sharingFailed) {
		s.books.faulted()
		return
	}
	x.wait(r)
	var answer reply
	switch {
	case refused == noValidPart:
		answer = sharingReply(http.StatusBadRequest, "error", "Third party sharing failed ("+bad.text()+")")
	case refused != "":
		answer = sharingReply(http.StatusBadRequest, "error", "Third party sharing failed ("+refused+")")
	default:
		if err := s.books.take(req, s.opts.now().Truncate(time.Second)); err != nil {
			s.opts.logger.Error("third-party sharing failed", "error", err)
			answer = sharingReply(http.StatusInternalServerError, "error", "Third party sharing failed (Internal error, contact support)")
			break
		}
		answer = sharingReply(http.StatusOK, "status", "OK")
		if bad.any() {
			answer = sharingReply(http.StatusAccepted, "error", "Third party sharing partially failed ("+bad.text()+")")
		}
	}
	leave() // before the client can send its next one
	s.books.answered(answer.status, refused)
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
func (s *sharingService) readSharing(r *http.Request) (req sharingRequest, bad issues, refused string) {
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
	got.settings = s.books.partners.readSettings(p.settings, &bad)
	got.options = s.books.partners.readOptions(p.options, &bad)
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
func (s *sharingService) checkSharing(p *sharingParams, h http.Header) (refused string) {
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

// hasApp tells apps of the account, and remembers them.
func (s *sharingService) hasApp(token string) bool {
	if _, known := s.apps.Load(token); known {
		return true
	}
	known, err := s.opts.hasApp(token)
	if err != nil {
		s.opts.logger.Error("app not looked up", "error", err)
	}
	if known {
		s.apps.Store(strings.Clone(token), true)
	}
	return known
}

// maySetSharing asks for a token when there is one of the app.
func (s *sharingService) maySetSharing(app string, h http.Header) bool {
	sent, bearer := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	sent = strings.TrimSpace(sent)
	asked := false
	for token, of := range s.opts.tokens {
		if of == "" || of == app {
			asked = true
			if bearer && token == sent {
				return true
			}
		}
	}
	return !asked
}
