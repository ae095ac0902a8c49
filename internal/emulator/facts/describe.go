package facts

import (
	"fmt"
	"slices"
	"strings"
)

// place is a country of the data.
type place struct {
	code, name, region string
	price              int // what a user costs and brings, in percent of the ordinary
}

// places are the countries of the data; unknown is a missing one.
var places = []place{
	{"US", "United States of America", "AMER", 170}, {"DE", "Germany", "EMEA", 120}, {"JP", "Japan", "APAC", 140},
	{"BR", "Brazil", "LATAM", 45},
	{"IN", "India", "APAC", 30}, {"TR", "Türkiye", "EMEA", 45}, {"FR", "France", "EMEA", 105},
	{"GB", "United Kingdom", "EMEA", 130},
	{"MX", "Mexico", "LATAM", 50}, {"KR", "South Korea", "APAC", 125}, {"unknown", "unknown", "unknown", 100},
}

// placeOf returns the place of a code in places.
func placeOf(code string) place {
	return places[slices.IndexFunc(places, func(p place) bool { return p.code == code })]
}

// partnerDef is an advertising partner's ID, unique slug and name. -300, 34, 254 and 1678 are the
// service's own, as clients have read them; those from 20000 on are made up.
type partnerDef struct{ id, slug, name string }

var partners = []partnerDef{
	{"-300", "organic", "Organic"}, {"34", "facebook", "Facebook"}, {"20034", "applovin", "AppLovin"},
	{"254", "google", "Google Ads"},
	{"1678", "tiktok", "TikTok for Business"}, {"20092", "unityads", "Unity"},
	{"20417", "direkt_partner", "Direkt & Partner"},
	{"unknown", "unknown", "unknown"},
}

// A Partner is an advertising partner, as reports show it.
type Partner struct{ ID, Slug, Name string }

// Partners returns the advertising partners of reports, without organic and unknown, which are
// none.
func Partners() (list []Partner) {
	for _, p := range partners {
		if p.slug != "organic" && p.slug != "unknown" {
			list = append(list, Partner{ID: p.id, Slug: p.slug, Name: p.name})
		}
	}
	return list
}

// devices has, by os_name, the device types, the store types and the platform of that system. A
// word that is repeated is drawn more often.
var devices = map[string]struct {
	types, stores []string
	platform      string
}{
	"android": {[]string{"phone", "phone", "phone", "tablet"}, []string{"google_play", "google_play", "google_play",
		"huawei", "samsung_app_store"}, "mobile_app"},
	"ios":     {[]string{"phone", "phone", "phone", "tablet", "ipod"}, []string{"app_store"}, "mobile_app"},
	"fire-tv": {[]string{"tv"}, []string{"amazon"}, "mobile_app"},
	"windows": {[]string{"pc", "pc", "tablet"}, []string{"microsoft_store", "web"}, "web"},
	"unknown": {[]string{"unknown"}, []string{"unknown"}, "undefined"},
}

var sourceNames = []string{"Feed", "Stories", "Audience Network", "unknown"}

// describe fills in the texts of the app's slices. It draws from a stream of its own, so that it
// doesn't change what else is made from the seed.
func (names *Names) describe(seed int64, a *App) {
	for i := range a.Slices {
		s := &a.Slices[i]
		r := NewRandom(seed, 9, a.origin, i)
		texts := map[string]string{"app_name": a.Name, "app_token": a.Token, "os_name": s.OSName,
			"country_code": s.country,
			"network":      s.network, "campaign": s.campaign, "campaign_network": s.campaignNetwork,
			"partner_name": s.partner}
		device := devices[s.OSName]
		texts["device_type"] = device.types[r.Below(len(device.types))]
		texts["store_type"] = device.stores[r.Below(len(device.stores))]
		texts["store_id"] = StoreID(seed, a.origin, texts["store_type"])
		if a.StoreID != "" { // it was declared in this store
			texts["store_type"], texts["store_id"] = device.stores[0], a.StoreID
		}
		texts["platform"] = device.platform
		in := placeOf(s.country)
		texts["country"], texts["region"] = in.name, in.region
		for _, p := range partners {
			if p.name == s.partner {
				texts["partner_id"], texts["partner"] = p.id, p.slug
			}
		}
		texts["channel"], texts["channel_id"] = s.partner, "partner_"+texts["partner_id"]
		if s.partner == "unknown" {
			texts["channel"], texts["channel_id"] = s.network, "network_"+s.network
		}
		texts["app_network"] = texts["store_type"] + ":" + texts["store_id"]
		names.describeAds(s, texts, r, a.origin)
		link := strings.Join([]string{a.Token, s.network, s.campaign, texts["adgroup"], texts["creative"]}, "\x00")
		texts["tracker_token"] = streamOf(seed, 14, link).Token(7)
		for _, column := range TextColumns {
			s.Texts = append(s.Texts, texts[column])
		}
	}
}

// describeAds fills in what an ad network reports. Organic users have none of it. Of the service's
// own networks only the one with a campaign has a campaign ID and a creative ID.
func (names *Names) describeAds(s *Slice, texts map[string]string, r *Random, origin int) {
	for _, column := range []string{"ad_account_id", "campaign_id_network", "adgroup", "adgroup_network",
		"adgroup_id_network",
		"source_network", "source_id_network", "creative", "creative_network", "creative_id_network"} {
		texts[column] = "unknown"
	}
	switch {
	case s.ownNetwork && s.campaign != "unknown":
		texts["campaign_id_network"], texts["creative_id_network"] = s.campaign, s.campaign
		return
	case s.ownNetwork, s.network == organicNetwork:
		return
	}
	if i := strings.LastIndex(s.campaign, " ("); i >= 0 {
		texts["campaign_id_network"] = strings.Trim(s.campaign[i:], " ()")
	}
	// level fills in the three columns of an adgroup or a creative.
	level := func(column, name string, id int) {
		if name != "unknown" {
			texts[column], texts[column+"_network"], texts[column+"_id_network"] = fmt.Sprintf("%s (%d)", name, id),
				name, fmt.Sprint(id)
		}
	}
	level("adgroup", names.adgroups[r.Below(len(names.adgroups))], 20_000_000+s.ID*10+r.Below(2))
	level("creative", names.creatives[r.Below(len(names.creatives))], 300_000_000+origin*1000+r.Below(40))
	if n := r.Below(len(sourceNames)); s.networkData && sourceNames[n] != "unknown" {
		texts["source_network"], texts["source_id_network"] = sourceNames[n], fmt.Sprint(7001+n)
	}
	if s.networkData {
		texts["ad_account_id"] = fmt.Sprint(310_455_000 + origin*100 + len(s.network))
	}
}

// StoreID returns an app's ID in a store, in the store's form.
func StoreID(seed int64, appIndex int, store string) string {
	r := NewRandom(seed, 10, appIndex)
	switch store {
	case "google_play", "huawei", "samsung_app_store":
		return "com.example." + r.Token(8)
	case "app_store":
		return fmt.Sprint(1_000_000_000 + r.Below(900_000_000))
	case "amazon", "microsoft_store":
		return "B0" + strings.ToUpper(r.Token(8))
	}
	return "missing"
}
