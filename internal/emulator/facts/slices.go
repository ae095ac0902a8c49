package facts

import (
	"slices"
	"strings"
)

// Ways of paying for traffic; they say which of the four costs its spend is.
const (
	payNothing = iota
	PayInstall
	PayClick
	PayImpression
	PayEvent
)

// Slice is one combination of an app's dimensions: who the users of a fact are, and what they are
// worth. Every fact belongs to one.
type Slice struct {
	ID     int
	OSName string
	Texts  []string // its dimensions, in the order of TextColumns

	// Values of the dimensions country_code, network, campaign, campaign_network and partner_name.
	country, network, campaign, campaignNetwork, partner string

	price       int  // what users cost and bring in its country, in percent of the ordinary
	pricing     int  // how its traffic is paid for: one of PayInstall to PayEvent, or payNothing
	weight      int  // share of the app's volume, in thousandths
	arpu, adpu  int  // micros of USD that one user brings in the end, by purchases and by ads
	retention   int  // quality of its users, in percent of the ordinary
	networkData bool // the network reports its own numbers
	ownNetwork  bool // network is one of ownNetworks
}

// ownNetworks are the networks that the service itself gives to users whom no link and no organic
// install explains. Source: dashboards of clients. They have no campaign, and nobody is paid for
// them; %s is the token of a tracker.
var ownNetworks = []string{"Untrusted Devices", "Unknown Devices", "Unknown Devices (restored %s)",
	"Expired Attributions",
	"Disabled Third Party Sharing Before Install", "Measurement Consent Updated Before Install", "Unknown"}

// TextColumns are the columns of slices that are texts, in the order of Slice.Texts: every
// dimension that isn't a date or a currency, under its own slug, but the app's name under app_name.
// The last ones are what other clients filter by.
var TextColumns = []string{"os_name", "device_type", "app_name", "app_token", "ad_account_id", "store_id", "store_type",
	"network", "campaign",
	"campaign_network", "campaign_id_network", "adgroup", "adgroup_network", "adgroup_id_network", "source_network",
	"source_id_network",
	"creative", "creative_network", "creative_id_network", "country", "country_code", "region", "partner_name",
	"partner_id", "partner",
	"channel", "platform", "channel_id", "app_network", "tracker_token"}

// TextOf returns the slice's text in a column of TextColumns, or "" for another name.
func (s *Slice) TextOf(column string) string {
	if i := slices.Index(TextColumns, column); i >= 0 {
		return s.Texts[i]
	}
	return ""
}

// organicNetwork is the network of users who came by themselves.
const organicNetwork = "Organic"

// makeSlices makes the slices of an app's traffic: organic users per system and country, campaigns,
// and the service's own networks. Their IDs count up from first.
func (names *Names) makeSlices(seed int64, origin, first int, osNames []string) []Slice {
	networks, countries := names.networks, names.countries
	r := NewRandom(seed, 2, origin)
	var out []Slice
	add := func(s Slice) {
		s.ID = first + len(out)
		s.retention = r.Between(60, 140)
		s.price = placeOf(s.country).price
		s.arpu = r.Between(40_000, 1_800_000) * s.price / 100
		s.adpu = r.Between(20_000, 600_000) * s.price / 100
		out = append(out, s)
	}
	// Organic users.
	for i, os := range osNames {
		for j := range 4 {
			add(Slice{OSName: os, country: countries[(j+i+origin)%len(countries)], network: organicNetwork,
				campaign:        "unknown",
				campaignNetwork: "unknown", partner: "Organic", weight: r.Between(40, 160)})
		}
	}
	// Campaigns.
	campaigns := r.Between(16, 20)
	for i := range campaigns {
		n := networks[r.Below(len(networks))]
		begin := len(out)
		// One campaign runs in two countries, so that rows share a campaign.
		for j := range 1 + i%2 {
			add(Slice{OSName: osNames[r.Below(len(osNames))], country: countries[r.Below(len(countries)-j)],
				network: n.network,
				partner: n.partner, pricing: n.pricing, networkData: n.reportsSpend, weight: r.Between(1, 60)})
		}
		names.nameCampaign(i+origin*3, 1_000_000+origin*1000+i, out[begin:])
	}
	// The service's own networks.
	for i, name := range ownNetworks {
		name = strings.Replace(name, "%s", streamOf(seed, 15, name).Token(8), 1)
		s := Slice{OSName: osNames[i%len(osNames)], country: countries[(i+origin)%len(countries)], network: name,
			campaign:        "unknown",
			campaignNetwork: "unknown", partner: "unknown", weight: r.Between(1, 12), ownNetwork: true}
		if name == "Expired Attributions" { // this name is also the campaign's name and its ID
			s.campaign, s.campaignNetwork = name, name
		}
		add(s)
	}
	return out
}
