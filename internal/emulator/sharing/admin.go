package sharing

import (
	"encoding/csv"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// State is what a device shares.
type State struct {
	AppToken string                       `json:"app_token"`
	IDType   string                       `json:"id_type"` // idfa or gps_adid
	Device   string                       `json:"device"`
	Arrivals int                          `json:"arrivals"` // requests about the device; 0: it is unknown
	Sharing  string                       `json:"sharing"`  // what came last: enable, disable or nothing
	Partners map[string]map[string]bool   `json:"partners"` // by partner and metric; all false under disable
	Options  map[string]map[string]string `json:"options"`  // group, key, value
}

// stateOf returns what a device shares. idType is idfa or gps_adid; "" stands for the one that
// requests were about, idfa first.
func (b *deviceStore) stateOf(app, idType, id string) State {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := deviceKey{app: app, id: id}
	if idType == idTypes[1] || idType == "" && b.devices[key] == nil {
		key.idType = 1
	}
	d := b.devices[key]
	if d == nil {
		d = &device{}
		if idType == "" {
			key.idType = 0
		}
	}
	out := State{AppToken: app, IDType: idTypes[key.idType], Device: id, Arrivals: d.arrivals, Sharing: d.master,
		Partners: map[string]map[string]bool{}, Options: optionsByGroup(d.options)}
	for place, name := range b.partners.names {
		if place == everyPartner {
			continue
		}
		shared := d.choices.effective(place)
		if d.master == "disable" {
			shared = 0
		}
		metrics := make(map[string]bool, len(metricNames))
		for i, metric := range metricNames {
			metrics[metric] = shared>>i&1 == 1
		}
		out.Partners[name] = metrics
	}
	return out
}

// bits writes a set as 0 and 1, in the order of metricNames.
func (m metricSet) bits() string {
	out := make([]byte, len(metricNames))
	for i := range out {
		out[i] = '0' + byte(m>>i&1)
	}
	return string(out)
}

// settingsText writes what is shared with each partner that was named, and as "*" with all others,
// whatever the master switch says.
func (b *deviceStore) settingsText(d *device) string {
	var words []string
	for place, name := range b.partners.names {
		if place != everyPartner && d.choices.forPartner(place).decided != 0 {
			words = append(words, escape(name)+"="+d.choices.effective(place).bits())
		}
	}
	return strings.Join(append(words, "*="+d.choices.effective(everyPartner).bits()), " ")
}

// Admin answers the admin calls of third-party sharing; known is false for other calls. When answer
// and err are nil and the call is known, Admin has written the answer itself.
func (s *Service) Admin(x *wire.Exchange, r *http.Request, call string) (answer any, known bool, err error) {
	q := r.URL.Query()
	switch call {
	case "GET sharing":
		answer, err = s.askedState(q)
		return answer, true, err
	case "GET sharing-books":
		return s.store.summary(), true, nil
	case "GET sharing-log":
		s.writeLog(x, q.Get("app_token"), q.Get("device"))
		return nil, true, nil
	case "GET sharing-devices":
		s.writeDevices(x)
		return nil, true, nil
	case "POST reset-sharing":
		if err := s.store.reset(); err != nil {
			return nil, true, fmt.Errorf("sharing: %w", err)
		}
		return struct{}{}, true, nil
	default:
		return nil, false, nil
	}
}

// askedState answers GET /_emulator/sharing.
func (s *Service) askedState(q url.Values) (state State, err error) {
	app, device, idType, partner := q.Get("app_token"), q.Get("device"), q.Get("id_type"), q.Get("partner")
	if !s.hasApp(app) || device == "" || idType != "" && !slices.Contains(idTypes[:], idType) {
		return state, errors.New("sharing: want app_token of the account, device, and id_type idfa, gps_adid or none")
	}
	state = s.store.stateOf(app, idType, device)
	if partner != "" {
		place, known := s.store.partners.byNameOrID(partner)
		if !known || place == everyPartner {
			return state, fmt.Errorf("sharing: no such partner: %s", partner)
		}
		name := s.store.partners.names[place]
		state.Partners = map[string]map[string]bool{name: state.Partners[name]}
	}
	return state, nil
}

// writeLog prints the arrivals as CSV. When app or device is given, it prints only theirs.
func (s *Service) writeLog(x *wire.Exchange, app, device string) {
	x.Header().Set("Content-Type", wire.CSV)
	w := csv.NewWriter(x)
	_ = w.Write([]string{"n", "received", "status", "app_token", "idfa", "gps_adid", "sharing", "settings", "options"})
	err := s.store.arrivals(func(a Arrival) bool {
		if (app == "" || app == a.AppToken) && (device == "" || device == a.IDFA || device == a.GPSADID) {
			_ = w.Write([]string{fmt.Sprint(a.N), a.Received.Format(time.RFC3339), fmt.Sprint(a.Status), a.AppToken,
				a.IDFA, a.GPSADID,
				a.Sharing, a.Settings, a.Options})
		}
		return w.Error() == nil
	})
	w.Flush()
	if err != nil {
		s.opts.Logger.Error("log of sharing not readable", "error", err)
		panic(http.ErrAbortHandler) // the answer must not look whole
	}
}

// writeDevices prints what each device shares, as CSV.
func (s *Service) writeDevices(x *wire.Exchange) {
	x.Header().Set("Content-Type", wire.CSV)
	b := s.store
	b.mu.Lock()
	keys := make([]deviceKey, 0, len(b.devices))
	for k := range b.devices {
		keys = append(keys, k)
	}
	b.mu.Unlock()
	slices.SortFunc(keys, deviceKey.compare)
	w := csv.NewWriter(x)
	_ = w.Write([]string{"app_token", "id_type", "device", "arrivals", "sharing", "settings", "options"})
	for _, k := range keys {
		if row := b.deviceRow(k); row != nil {
			_ = w.Write(row)
		}
	}
	w.Flush() // a client that is gone needs no answer
}

// deviceRow returns the device's row for writeDevices, or nil when the device was forgotten
// meanwhile.
func (b *deviceStore) deviceRow(k deviceKey) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.devices[k]
	if d == nil {
		return nil
	}
	return []string{k.app, idTypes[k.idType], k.id, fmt.Sprint(d.arrivals), d.master, b.settingsText(d),
		optionsText(d.options)}
}
