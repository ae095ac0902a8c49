package sharing

import (
	"fmt"
	"slices"
	"strings"
)

// all is every partner, or every metric.
const all = "all"

// Metrics are what sharing is set for, groups before what is in them.
var Metrics = []string{"session", "install", "rejected_install", "reinstall", "reattribution", "rejected_reattribution",
	"reattribution_reinstall", "ad_revenue", "event", "sdk_click", "sdk_info", "subscription", "uninstall", "update", "att_update"}

// groups are the metrics that others are in; all of them are in all. The interface document names seven groups and not
// what is in them; the tree is that of the service's page on third-party sharing.
var groups = map[string]string{
	"install": "session", "rejected_install": "install", "reinstall": "session", "reattribution": "session",
	"rejected_reattribution": "session", "reattribution_reinstall": "session",
}

// above are the groups of a metric, the nearest first, without all.
func above(metric string) (list []string) {
	for g := groups[metric]; g != ""; g = groups[g] {
		list = append(list, g)
	}
	return list
}

func isMetric(name string) bool { return name == all || slices.Contains(Metrics, name) }

// slugs are the partners that the service's page on channel setup lists; the interface document calls them partner_1 to
// partner_13, in this order.
var slugs = []string{"applovin", "chartboost", "facebook", "gameanalytics", "google", "inmobi", "ironsource", "mintegral",
	"snapchat", "tapjoy", "tiktok", "unityads", "vungle"}

// callbacks are those that are made for each call.
const callbacks = "dynamic_callbacks"

// Partners are those that settings may name.
type Partners struct {
	known map[string]string // as named -> the one name of it
	list  []string
}

// NewPartners gives the service's own and those of more.
func NewPartners(more []string) Partners {
	p := Partners{map[string]string{all: all, callbacks: callbacks}, slices.Clone(slugs)}
	for i, s := range slugs {
		p.known[s], p.known[fmt.Sprintf("partner_%d", i+1)] = s, s
	}
	for _, name := range more {
		if p.known[name] == "" {
			p.known[name], p.list = name, append(p.list, name)
		}
	}
	p.list = append(p.list, callbacks)
	return p
}

// List gives the names of those that data may go to.
func (p Partners) List() []string { return slices.Clone(p.list) }

// Name gives the one name of a partner; some have two.
func (p Partners) Name(named string) (name string, known bool) {
	name, known = p.known[named]
	return name, known
}

// optionKeys are the keys of the groups of granular options whose values are known. Any partner may have a group of
// free ones.
var optionKeys = map[string]map[string][]string{
	"google_dma": {"eea": flags, "ad_personalization": flags, "ad_user_data": flags, "npa": flags},
	"facebook":   {"data_processing_options_country": {"0", "1"}, "data_processing_options_state": {"0", "1000", "1001", "1002"}},
}

var flags = []string{"0", "1"}

// optionGroup gives the keys of a group, nil for free ones.
func (p Partners) optionGroup(name string) (keys map[string][]string, known bool) {
	if name == "partner_dma" {
		name = "google_dma"
	}
	if slug := p.known[name]; slug != "" {
		name = slug
	}
	if keys := optionKeys[name]; keys != nil {
		return keys, true
	}
	return nil, name == "apple_ads" || slices.Contains(p.list, name) && !strings.HasPrefix(name, callbacks)
}
