package sharing_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/emulator/sharing"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// These follow -args.
var (
	sharingSeed = flag.Uint64("devices-seed", 1, "seed of these devices")
	sharingRuns = flag.Int("devices", 0,
		"devices of the naive evaluator's test of sharing; 0 means 4000, or 1000 in short mode")
)

// naiveParents are the rules' words: session has five children, install one, and all stands above
// the rest.
var naiveParents = map[string]string{
	"ad_revenue": "all", "att_update": "all", "event": "all", "sdk_click": "all", "sdk_info": "all", "session": "all",
	"subscription": "all",
	"uninstall":    "all", "update": "all", "install": "session", "reinstall": "session", "reattribution": "session",
	"rejected_reattribution":  "session",
	"reattribution_reinstall": "session", "rejected_install": "install", "all": "",
}

// naiveSharing evaluates the rules as they are written, by remembering each word that was said:
// nothing is worked into other metrics before somebody asks.
type naiveSharing struct {
	disabled bool
	words    map[string]map[string]bool // partner, metric
	options  map[string]string          // group.key
}

// naiveWord is a setting of one request.
type naiveWord struct {
	partner, metric string
	value           bool
}

func (n *naiveSharing) hear(words []naiveWord) {
	for _, w := range words { // a group's new word makes older ones of what is below it void
		for metric := range n.words[w.partner] {
			for up := naiveParents[metric]; up != ""; up = naiveParents[up] {
				if up == w.metric {
					delete(n.words[w.partner], metric)
				}
			}
		}
	}
	for _, w := range words {
		if n.words[w.partner] == nil {
			n.words[w.partner] = map[string]bool{}
		}
		n.words[w.partner][w.metric] = w.value
	}
}

func (n *naiveSharing) shares(partner, metric string) bool {
	if n.disabled {
		return false
	}
	for _, who := range []string{partner, "all"} {
		for m := metric; m != ""; m = naiveParents[m] {
			if value, said := n.words[who][m]; said {
				return value
			}
		}
	}
	return true
}

// naiveDraw makes requests of one device, with some invalid parts.
type naiveDraw struct {
	r   *rand.Rand
	app string
}

var (
	naivePartners = []string{"all", "all", "dynamic_callbacks", "facebook", "google", "vungle", "a.b, c=d"}
	naiveMetrics  = []string{"all", "all", "session", "session", "session", "install", "install", "rejected_install",
		"reinstall", "reattribution",
		"rejected_reattribution", "reattribution_reinstall", "event", "update", "ad_revenue", "att_update", "sdk_click",
		"sdk_info", "subscription", "uninstall"}
)

// naiveCall is a request with what is to come of it.
type naiveCall struct {
	request *http.Request
	status  int
	sharing string
	words   []naiveWord
	options map[string]string
}

func (d *naiveDraw) call(device string) naiveCall {
	c := naiveCall{options: map[string]string{}}
	bad := false
	pairs := []string{"s2s", "1", "app_token", d.app, []string{"idfa", "gps_adid"}[len(device)%2], device}
	if d.r.IntN(4) == 0 {
		c.sharing = []string{"enable", "disable", "enable", "no"}[d.r.IntN(4)]
		pairs = append(pairs, "sharing", c.sharing)
		if c.sharing == "no" {
			c.sharing, bad = "", true
		}
	}
	type said struct{ partner, metric, value string }
	var list []said
	for range d.r.IntN(6) {
		w := naiveWord{naivePartners[d.r.IntN(len(naivePartners))], naiveMetrics[d.r.IntN(len(naiveMetrics))],
			d.r.IntN(2) == 0}
		s := said{w.partner, w.metric, fmt.Sprint(w.value)}
		if w.partner == "facebook" && d.r.IntN(2) == 0 {
			s.partner = "partner_3"
		}
		switch d.r.IntN(40) {
		case 0:
			s.partner = "nobody"
		case 1:
			s.metric = "clicks"
		case 2:
			s.value = "1"
		default:
			c.words = append(c.words, w)
			list = append(list, s)
			continue
		}
		bad = true
		list = append(list, s)
	}
	var texts []string
	for _, s := range list {
		texts = append(texts, fmt.Sprintf(`{"partnerName":%q,"key":%q,"value":%s}`, s.partner, s.metric, s.value))
	}
	switch form := d.r.IntN(4); {
	case len(list) == 0:
	case form == 0: // a map, as it comes: partners and metrics may stand in it twice
		var parts []string
		for _, s := range list {
			parts = append(parts, fmt.Sprintf(`%q:{%q:%s}`, s.partner, s.metric, s.value))
		}
		pairs = append(pairs, sharing.SettingsName, "{"+strings.Join(parts, ",")+"}")
	case form == 1:
		pairs = append(pairs, sharing.SettingsName, "["+strings.Join(texts, ",")+"]")
	case form == 2:
		for _, text := range texts {
			pairs = append(pairs, sharing.SettingsName, text)
		}
	default:
		for i, s := range list {
			at := fmt.Sprintf("%s[%d]", sharing.SettingsName, i)
			pairs = append(pairs, at+"[value]", s.value, at+"[key]", s.metric, at+"[partnerName]", s.partner)
		}
	}
	for range d.r.IntN(3) {
		key, value := []string{"eea", "npa", "ad_user_data", "ad_personalization"}[d.r.IntN(4)],
			[]string{"0", "1"}[d.r.IntN(2)]
		pairs = append(pairs, sharing.OptionsName+"[google_dma]["+key+"]", value)
		c.options["google_dma."+key] = value
	}
	valid := c.sharing != "" || len(c.words) > 0 || len(c.options) > 0
	switch {
	case !valid:
		c.status = 400
	case bad:
		c.status = 202
	default:
		c.status = 200
	}
	c.request = d.request(pairs)
	return c
}

// request sends the pairs in the query, in a form, or as JSON where they have no brackets.
func (d *naiveDraw) request(pairs []string) *http.Request {
	r := &http.Request{Method: http.MethodPost, URL: &url.URL{Path: sharing.Path}, Header: http.Header{},
		Body: http.NoBody}
	put := func(kind, text string) {
		r.Header.Set("Content-Type", kind)
		r.Body = io.NopCloser(strings.NewReader(text))
	}
	switch encoded := emutest.Form(pairs...); d.r.IntN(3) {
	case 0:
		r.URL.RawQuery = encoded
	case 1:
		if !strings.Contains(encoded, "%5B") { // no brackets: all of it is texts
			var members []string
			for i := 0; i < len(pairs); i += 2 {
				name, _ := json.Marshal(pairs[i])
				value, _ := json.Marshal(pairs[i+1])
				members = append(members, string(name)+":"+string(value))
			}
			put("application/json", "{"+strings.Join(members, ",")+"}")
			break
		}
		put(wire.FormType, encoded)
	default:
		put(wire.FormType, encoded)
	}
	return r
}

// Whatever a device is sent, what holds for it is what the rules say word by word.
func TestAnySharingEqualsANaiveEvaluation(t *testing.T) {
	t.Parallel()
	n := *sharingRuns
	if n == 0 {
		n = 4_000 / emutest.Slowdown
		if testing.Short() {
			n = 1_000 / emutest.Slowdown
		}
	}
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 2, SharingPartners: []string{"a.b, c=d"}})
	partners := []string{"dynamic_callbacks", "facebook", "google", "vungle", "a.b, c=d", "tiktok"}
	var mu sync.Mutex
	statuses, unshared, bad := map[int]int{}, 0, 0
	var wg sync.WaitGroup
	const workers = 4
	for worker := range workers {
		wg.Go(func() {
			seen, none := map[int]int{}, 0
			for i := worker; i < n; i += workers {
				// Each device has a stream of its own, so that a failing one is found again by seed
				// and number.
				d := &naiveDraw{r: rand.New(rand.NewPCG(*sharingSeed, uint64(i))), app: s.Apps()[0].Token}
				off, err := d.device(s, i, partners, seen)
				none += off
				if err != nil {
					mu.Lock()
					bad++
					if bad < 4 {
						t.Errorf("seed %d, device %d: %v", *sharingSeed, i, err)
					}
					mu.Unlock()
				}
			}
			mu.Lock()
			defer mu.Unlock()
			unshared += none
			for status, times := range seen {
				statuses[status] += times
			}
		})
	}
	wg.Wait()
	t.Logf("seed %d: %d devices, %d wrong, answers %v, %d of %d pairs of partner and metric not shared", *sharingSeed,
		n, bad, statuses, unshared, n*len(partners)*15)
	if statuses[200] < n || statuses[202] < n/10 || statuses[400] < n/100 || unshared < n*len(partners)*15/5 ||
		unshared > n*len(partners)*12 {
		t.Error("that shows little")
	}
}

// device sends a device's requests, and compares what holds after each; it counts what isn't shared
// in the end.
func (d *naiveDraw) device(s *emulator.Server, i int, partners []string, statuses map[int]int) (unshared int,
	err error) {
	device := fmt.Sprintf("device-%d", i)
	naive := &naiveSharing{words: map[string]map[string]bool{}, options: map[string]string{}}
	var sent []string
	for range d.r.IntN(5) + 1 {
		c := d.call(device)
		sent = append(sent, fmt.Sprintf("%s %v", c.sharing, c.words))
		w := httptest.NewRecorder()
		s.ServeHTTP(w, c.request)
		statuses[w.Code]++
		if w.Code != c.status {
			return 0, fmt.Errorf("%s: status %d %s, want %d", strings.Join(sent, ", then "), w.Code, w.Body, c.status)
		}
		if c.sharing != "" {
			naive.disabled = c.sharing == "disable"
		}
		naive.hear(c.words)
		for k, v := range c.options {
			naive.options[k] = v
		}
		got := s.SharingOf(d.app, "", device)
		unshared = 0
		for _, partner := range partners {
			for metric := range naiveParents {
				if metric == "all" {
					continue
				}
				want := naive.shares(partner, metric)
				if !want {
					unshared++
				}
				if shared, listed := got.Partners[partner][metric]; !listed || shared != want {
					return 0, fmt.Errorf("%s: %s of %s is %t, want %t", strings.Join(sent, ", then "), metric, partner,
						shared, want)
				}
			}
		}
		options := 0
		for group, keys := range got.Options {
			for key, value := range keys {
				options++
				if naive.options[group+"."+key] != value {
					return 0, fmt.Errorf("%s: option %s of %s is %q", strings.Join(sent, ", then "), key, group, value)
				}
			}
		}
		if options != len(naive.options) {
			return 0, fmt.Errorf("%s: options %v, want %v", strings.Join(sent, ", then "), got.Options, naive.options)
		}
	}
	return unshared, nil
}
