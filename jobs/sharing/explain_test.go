//go:build !fuzz

package sharing

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/slow"
)

var explained = flag.Int("n", 3_000, "random settings that are explained")

// naive evaluates settings by colouring: it starts with everything shared, and paints each record's
// settings from the widest to the narrowest, over whatever lies below them. It knows the metrics
// below a group from a drawing.
type naive struct {
	own      map[string]map[string]bool // partner, leaf or group: what was painted
	disabled bool
}

const drawing = `
all
 session
  install
   rejected_install
  reinstall
  reattribution
  rejected_reattribution
  reattribution_reinstall
 ad_revenue
 event
 sdk_click
 sdk_info
 subscription
 uninstall
 update
 att_update
`

// depth and below are read off the drawing.
func depth(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

func below(metric string) (list []string) {
	lines := strings.Split(strings.Trim(drawing, "\n"), "\n")
	i := slices.IndexFunc(lines, func(l string) bool { return strings.TrimSpace(l) == metric })
	list = append(list, metric)
	for j := i + 1; j < len(lines) && depth(lines[j]) > depth(lines[i]); j++ {
		list = append(list, strings.TrimSpace(lines[j]))
	}
	return list
}

var belows = func() map[string][]string {
	m := map[string][]string{}
	for line := range strings.SplitSeq(strings.Trim(drawing, "\n"), "\n") {
		m[strings.TrimSpace(line)] = below(strings.TrimSpace(line))
	}
	return m
}()

func (n *naive) apply(choice string, s map[string]map[string]bool) {
	if choice != "" {
		n.disabled = choice == "disable"
	}
	for partner, metrics := range s {
		var order []string
		for m := range metrics {
			order = append(order, m)
		}
		slices.SortFunc(order, func(a, b string) int { return len(belows[b]) - len(belows[a]) })
		if n.own[partner] == nil {
			n.own[partner] = map[string]bool{}
		}
		for _, m := range order {
			for _, painted := range belows[m] {
				n.own[partner][painted] = metrics[m]
			}
		}
	}
}

func (n *naive) shared(partner, metric string) bool {
	if n.disabled {
		return false
	}
	if on, painted := n.own[partner][metric]; painted {
		return on
	}
	if on, painted := n.own["all"][metric]; painted {
		return on
	}
	return true
}

// randomRecord is what one record may say.
func randomRecord(dice *rand.Rand, partners, metrics []string) (choice string, s map[string]map[string]bool) {
	s = map[string]map[string]bool{}
	for range 1 + dice.IntN(3) {
		p := partners[dice.IntN(len(partners))]
		if dice.IntN(3) == 0 {
			p = "all"
		}
		if s[p] == nil {
			s[p] = map[string]bool{}
		}
		for range 1 + dice.IntN(4) {
			s[p][metrics[dice.IntN(len(metrics))]] = dice.IntN(2) == 0
		}
	}
	if dice.IntN(20) == 0 {
		choice = "disable"
	} else if dice.IntN(10) == 0 {
		choice = "enable"
	}
	return choice, s
}

// otherNames are what the partners may be called besides their names.
var otherNames = map[string][]string{
	"applovin": {"20034", "AppLovin (20034)", "partner_1"}, "chartboost": {"Chartboost", "partner_2"},
	"facebook": {"34", "Facebook (34)", "FACEBOOK"},
	"google":   {"254", "google (254)", "Partner_5"}, "tiktok": {"1678", "TikTok (1678)", "partner_11"}, "all": {"ALL"},
}

// spelt writes settings in one of the ways in which they can be written: as a file has them, and as
// they are sent.
func spelt(dice *rand.Rand, s map[string]map[string]bool) (text string, sent map[string]string) {
	const param = "partner_sharing_settings"
	object, forms, brackets := map[string]map[string]bool{}, []string{}, map[string]string{}
	for partner, metrics := range s {
		named := partner
		if more := otherNames[partner]; more != nil && dice.IntN(2) == 0 {
			named = more[dice.IntN(len(more))]
		}
		object[named] = metrics
		for metric, on := range metrics {
			at := fmt.Sprintf("%s[%d]", param, len(forms))
			brackets[at+"[partnerName]"], brackets[at+"[key]"], brackets[at+"[value]"] = named, metric, fmt.Sprint(on)
			forms = append(forms, fmt.Sprintf(`{"partnerName":%q,"key":%q,"value":%t}`, named, metric, on))
		}
	}
	objectText, _ := json.Marshal(object) // maps of texts and booleans
	formsText := "[" + strings.Join(forms, ",") + "]"
	if len(forms) == 1 && dice.IntN(2) == 0 {
		formsText = forms[0]
	}
	text = []string{string(objectText), formsText}[dice.IntN(2)]
	return text, []map[string]string{{param: string(objectText)}, {param: formsText}, brackets}[dice.IntN(3)]
}

// Explain, the naive evaluator above and the emulator agree on every metric of every partner, after
// one to three random records of a device.
func TestExplainAgrees(t *testing.T) {
	slow.Test(t)
	seed := rand.Uint64()
	dice := rand.New(rand.NewPCG(seed, 0))
	server, err := emulator.New(emutest.With(emulator.Options{Apps: 1, Days: 1, Rate: -1,
		SharingPartners: []string{"42"}, Readings: []string{"sharing-partner=any"}}))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close() //nolint:errcheck // a test's
	client, app := server.Client(), server.Apps()[0].Token
	// Of the IDs that reports have, the service's pages tell one: the others have to be said.
	partners := NewPartners([]string{"42", "applovin (20034)"})
	if has := slices.Sorted(maps.Keys(server.SharingOf(app, "", "nobody").Partners["facebook"])); !slices.Equal(
		slices.Sorted(slices.Values(Metrics)), has) {
		t.Fatalf("metrics %v, the emulator has %v", Metrics, has)
	}
	names := append(partners.List(), all)
	metrics := append(slices.Clone(Metrics), all, "session", "install")
	settings, compared, rules := 0, 0, map[string]int{}
	for device := 0; settings < *explained; device++ {
		state, third := partners.NewState(), &naive{own: map[string]map[string]bool{}}
		id := fmt.Sprintf("device-%d", device)
		var said []string
		for range 1 + dice.IntN(3) {
			choice, s := randomRecord(dice, names, metrics)
			text, sent := spelt(dice, s)
			parsed, strange, err := partners.ParseSettings(text)
			if err != nil || strange {
				t.Fatalf("%s: %v, strange %t", text, err, strange)
			}
			state.Apply(choice, parsed)
			third.apply(choice, s)
			form := url.Values{"s2s": {"1"}, "app_token": {app}, "idfa": {id}}
			for name, value := range sent {
				form.Set(name, value)
			}
			if choice != "" {
				form.Set("sharing", choice)
			}
			res, err := client.PostForm("http://embedded/third_party_sharing", form)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if res.StatusCode >= 300 || res.StatusCode == http.StatusAccepted {
				t.Fatalf("%s: %s %s", text, res.Status, body)
			}
			said = append(said, choice+text)
			settings++
		}
		there := server.SharingOf(app, "idfa", id).Partners
		for _, p := range partners.List() {
			for _, m := range Metrics {
				v := state.Explain(p, m)
				rules[v.Rule]++
				if want, naively := there[p][m], third.shared(p, m); v.Shared != want || v.Shared != naively {
					t.Fatalf("seed %d: after %s: %s of %s: explained %v (%s), the emulator %v, naively %v", seed, said,
						m, p, v.Shared, v.Because, want, naively)
				}
				compared++
			}
		}
	}
	for _, rule := range []string{"own", "1", "2", "3", "4", "sharing", "default"} {
		if rules[rule] == 0 {
			t.Errorf("rule %s never decided", rule)
		}
	}
	t.Logf("seed %d: %d settings, %d metrics of partners agree; rules %v", seed, settings, compared, rules)
}

// The examples of the service's documents.
func TestExplain(t *testing.T) {
	for _, test := range []struct{ settings, metric, want string }{
		{`{"facebook":{"session":false,"install":true}}`, "install", "true 2 facebook.install is true"},
		{`{"facebook":{"session":false,"install":true}}`, "rejected_install", "true 2 facebook.install is true"},
		{`{"facebook":{"session":false,"install":true}}`, "reinstall", "false 1 facebook.session is false"},
		{`{"facebook":{"session":true,"install":false}}`, "install", "false 3 facebook.install is false"},
		{`{"facebook":{"session":true,"install":false}}`, "rejected_install", "false 3 facebook.install is false"},
		{`{"facebook":{"session":true,"install":false}}`, "reinstall", "true 3 facebook.session is true"},
		{`{"all":{"all":false},"facebook":{"event":true}}`, "event", "true own facebook.event is true"},
		{`{"all":{"all":false},"facebook":{"event":true}}`, "session", "false 4 all.all is false"},
		{`{"partner_3":{"event":false}}`, "event", "false own facebook.event is false"},
		{`{"google":{"event":false}}`, "event", "true default nothing was said of it"},
	} {
		s, _, err := known.ParseSettings(test.settings)
		if err != nil {
			t.Fatal(err)
		}
		state := known.NewState()
		state.Apply("enable", s)
		v := state.Explain("facebook", test.metric)
		if got := fmt.Sprint(v.Shared, " ", v.Rule, " ", v.Because); got != test.want {
			t.Errorf("%s: %s: %s, want %s", test.settings, test.metric, got, test.want)
		}
		state.Apply("disable", nil)
		if v := state.Explain("facebook", test.metric); v.Shared || v.Rule != "sharing" {
			t.Errorf("%+v", v)
		}
	}
}
