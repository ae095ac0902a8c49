package sharing

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/reading"
	"github.com/reportferry/reportferry/internal/emulator/store"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// Path is where devices' choices are posted.
const Path = "/third_party_sharing"

// request has the valid parts of a request.
type request struct {
	app           string // its token
	idfa, gpsADID string // one may be missing
	status        int    // 200, or 202 when other parts were invalid
	master        string // "enable", "disable" or nothing
	settings      []setting
	options       []option
}

// The reasons for an answer of 400 that are counted by themselves.
const (
	nothingToDo = "Missing parameter: sharing, " + settingsName + " or " + optionsName
	noValidPart = "No valid part"
	noApp       = "App not found"
	notAllowed  = "Failed to authorize request"
)

// Options say whose settings are taken.
type Options struct {
	// Tokens maps bearer tokens to the app that each is for, "" for any. An app that has no token
	// isn't asked for one.
	Tokens   map[string]string
	Channels []string  // the partners of the channel setup, in its order, which partner_1, partner_2... count
	Reported []Partner // the partners that reports have
	Partners []string  // further partners
	HasApp   func(token string) (bool, error)
	Readings reading.Set // how the service does what its document leaves open
	Kept     bool        // an answer waits until its line is in the file
	Now      func() time.Time
	Logger   *slog.Logger
}

// Service answers POST /third_party_sharing and keeps what each device of an app shares with whom.
type Service struct {
	opts  Options
	store *deviceStore
	apps  sync.Map // tokens that are known to be apps of the account
}

// New makes the endpoint, with no settings of any device.
func New(db *store.DB, o Options) (*Service, error) {
	if slices.Contains(o.Partners, "") {
		return nil, errors.New("a sharing partner without a name")
	}
	s := &Service{opts: o, store: newDeviceStore(makePartners(o))}
	s.store.log, s.store.kept = store.NewLog(db, "sharing"), o.Kept
	for token, app := range o.Tokens {
		if token == "" || app != "" && !s.hasApp(app) {
			return nil, fmt.Errorf("sharing token %q of app %q: want a token, and an app of the account or none", token,
				app)
		}
	}
	return s, nil
}

// Replay rebuilds the settings and the counts from the log of a kept file. It is called once,
// before the first request.
func (s *Service) Replay() error { return s.store.replay() }

// Close waits until all that was taken is in the file, and returns what couldn't be written.
func (s *Service) Close() error { return s.store.log.Settle() }

// Summary sums up what arrived at /third_party_sharing. The earlier arrivals in a kept file count
// too, except those that were refused.
func (s *Service) Summary() Summary { return s.store.summary() }

// StateOf returns what a device shares. idType is idfa or gps_adid; "" stands for the one that
// requests were about, idfa first.
func (s *Service) StateOf(app, idType, device string) State {
	return s.store.stateOf(app, idType, device)
}

// Arrivals calls yield for each request that was taken until now, in the order of taking, until
// yield returns false.
func (s *Service) Arrivals(yield func(Arrival) bool) error {
	return s.store.arrivals(yield)
}

// Reset forgets all devices, the log and the counts.
func (s *Service) Reset() error { return s.store.reset() }

// Serve answers POST /third_party_sharing.
//
// A request is read before it waits, so that two requests about one device that are under way at a
// time are noticed. It is taken after the wait, so that two such requests may overtake each other.
func (s *Service) Serve(x *wire.Exchange, r *http.Request) {
	req, bad, refused := s.read(r)
	if x.Fault.Refuses() {
		req = request{}         // it is about no device
		s.store.answers.Fault() // before the client can ask for the counts
	}
	leave := s.store.enter(req)
	defer leave()
	if x.Struck(r, scriptedFailure) {
		return
	}
	x.Wait(r)
	var answer wire.Reply
	if refused != "" {
		answer = s.refusal(refused, &bad, r.Header)
	} else if err := s.store.take(req, s.opts.Now().Truncate(time.Second)); err != nil {
		s.opts.Logger.Error("third-party sharing failed", "error", err)
		answer = failure(http.StatusInternalServerError, "Internal error, contact support")
	} else {
		answer = s.taken(&bad)
	}
	leave() // before the client can send its next one
	s.store.answers.Answer(answer.Status, refused)
	x.Deliver(answer, scriptedFailure)
}

// read reads and checks a request. refused is why nothing of it is taken, and then req has no
// device.
func (s *Service) read(r *http.Request) (req request, bad issues, refused string) {
	p, refused := readParams(r)
	if s.opts.Readings.Is(reading.SharingForm, "json-options") {
		p.options.requireJSONBody()
	}
	if refused == "" {
		refused = s.check(&p, r.Header)
	}
	if refused != "" {
		return req, bad, refused
	}
	got := request{app: p.plain[paramApp], idfa: p.plain[paramIDFA], gpsADID: p.plain[paramGPSADID],
		status: http.StatusOK}
	switch choice := p.plain[paramSharing]; choice {
	case "", "enable", "disable":
		got.master = choice
	default:
		bad.add("Invalid sharing", choice)
	}
	got.settings = s.store.partners.readSettings(p.settings, &bad)
	got.options = s.store.partners.readOptions(p.options, &bad)
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

// check returns why a request is refused, when something that every request must have is missing or
// invalid.
func (s *Service) check(p *params, h http.Header) (refused string) {
	app, idfa, gpsADID := p.plain[paramApp], p.plain[paramIDFA], p.plain[paramGPSADID]
	switch {
	case app == "":
		return "Missing parameter: app_token"
	case !s.hasApp(app):
		return noApp
	case !s.mayCall(app, h):
		return notAllowed
	case p.plain[paramS2S] == "":
		return "Missing parameter: s2s"
	case p.plain[paramS2S] != "1":
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

// hasApp tells whether a token is that of an app of the account, and remembers it if so.
func (s *Service) hasApp(token string) bool {
	if _, known := s.apps.Load(token); known {
		return true
	}
	known, err := s.opts.HasApp(token)
	if err != nil {
		s.opts.Logger.Error("app not looked up", "error", err)
	}
	if known {
		s.apps.Store(strings.Clone(token), true)
	}
	return known
}

// mayCall tells whether a request has a token for the app, or needs none because there is none for
// the app.
func (s *Service) mayCall(app string, h http.Header) bool {
	sent, bearer := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	sent = strings.TrimSpace(sent)
	needed := false
	for token, its := range s.opts.Tokens {
		if its == "" || its == app {
			needed = true
			if bearer && token == sent {
				return true
			}
		}
	}
	return !needed
}
