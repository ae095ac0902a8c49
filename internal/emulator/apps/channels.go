package apps

import (
	"fmt"
	"maps"
	"slices"
)

// channelParam is one value that a partner asks for.
type channelParam struct {
	name     string
	kind     string // texts, flag, or "" for a text
	optional bool
	absent   bool // what an optional flag means when it is absent
}

// channel is a partner with the values that its setup asks for.
type channel struct {
	slug   string // the first of channels is also named partner_1, and so on
	params []channelParam
}

// channels are the partners that need values of the app's own, in the order of the interface
// document, which calls them partner_1 to partner_13. Source of the slugs: the service's page about
// channel setup.
var channels = []channel{
	{"applovin", []channelParam{{name: "sdk_keys", kind: "texts"}}},
	{"chartboost", []channelParam{{name: "app_id"}, {name: "token"}}},
	{"facebook", []channelParam{{name: "app_id"}, {name: "adimpression_forwarding", kind: "flag", optional: true}}},
	{"gameanalytics", []channelParam{{name: "key"}}},
	{"google", []channelParam{{name: "link_id"}}},
	{"inmobi", []channelParam{{name: "property_id"}, {name: "advertiser_id"}}},
	{"ironsource", []channelParam{{name: "advertiser_id"}, {name: "password"}}},
	{"mintegral", []channelParam{{name: "enabled", kind: "flag"}}},
	{"snapchat", []channelParam{{name: "snap_app_id"}}},
	{"tapjoy", []channelParam{{name: "app_id"}}},
	{"tiktok", []channelParam{{name: "app_id"}, {name: "enabled", kind: "flag", optional: true, absent: true}}},
	{"unityads", []channelParam{{name: "game_id"}}},
	{"vungle", []channelParam{{name: "app_id"}}},
}

// Channels returns the slugs of the partners of the channel setup, in its order.
func Channels() (out []string) {
	for _, c := range channels {
		out = append(out, c.slug)
	}
	return out
}

// findChannel finds a partner by either name.
func findChannel(name string) (channel, bool) {
	for i, c := range channels {
		if name == c.slug || name == fmt.Sprintf("partner_%d", i+1) {
			return c, true
		}
	}
	return channel{}, false
}

// readChannels reads channel_setup, and returns it as it came, without unknown parameters.
func readChannels(f fields) map[string]any {
	o := f.object("channel_setup")
	out, taken := map[string]any{}, map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(o.values)) {
		c, ok := findChannel(name)
		switch {
		case !ok:
			o.wrong(name, "Unknown partner")
			continue
		case taken[c.slug]:
			o.wrong(name, "The partner is there under its other name too")
			continue
		}
		taken[c.slug] = true
		if values, ok := itemAt(o.values[name], o.errs, o.loc(name)); ok {
			out[name] = c.read(values)
		}
	}
	return out
}

// read checks a partner's values and returns those that it knows; what is wrong is noted in f.
func (c channel) read(f fields) map[string]any {
	out := map[string]any{}
	for _, p := range c.params {
		if !f.has(p.name) {
			if !p.optional {
				f.need(p.name)
			}
			continue
		}
		switch p.kind {
		case "flag":
			f.boolean(p.name, false)
		case "texts":
			if len(f.texts(p.name)) == 0 {
				if _, isList := f.values[p.name].([]any); isList {
					f.wrong(p.name, "List should have at least 1 item")
				}
			}
		default:
			f.text(p.name)
		}
		out[p.name] = f.values[p.name]
	}
	return out
}

// channelOf returns the app's setup of a partner, with the defaults in place, or nil if it has
// none.
func (a *accountApp) channelOf(slug string) map[string]any {
	for name, values := range a.Channels {
		c, _ := findChannel(name)
		if c.slug != slug {
			continue
		}
		own, _ := values.(map[string]any)
		out := merged(own, nil)
		for _, p := range c.params {
			if p.optional && out[p.name] == nil {
				out[p.name] = p.absent
			}
		}
		return out
	}
	return nil
}
