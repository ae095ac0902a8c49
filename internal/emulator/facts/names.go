package facts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Names are what an account's apps, events, networks and campaigns are called. Ordinary and Hostile
// have equally many of each, so that nearly the same draws of the seed make both accounts.
type Names struct {
	apps      []string
	countries []string
	networks  []networkDef
	campaigns []string // {geo} and {os} stand for the campaign's countries and system
	adgroups  []string
	creatives []string
	events    []eventDef
}

// networkDef is an ad network, its partner's name, and how its traffic is paid for.
type networkDef struct {
	network, partner string
	pricing          int
	reportsSpend     bool // has rows of the network's own numbers
}

// Ordinary names are like those of a real account.
var Ordinary = &Names{
	apps: []string{
		"Sky Garden", "Tile Orchard", "Bakery Rush", "Cats and Coffee", "Word Ladder Daily", "Nonogram Notebook",
		"Idle Harbor", "Fit+Walk: Steps", "Oasis Builder", "Chess Club 2", "Très Chic – Mode", "Pocket Ledger",
	},
	countries: []string{"US", "DE", "JP", "BR", "IN", "TR", "FR", "KR", "GB", "MX"},
	networks: withPartners(networkDef{"Cross Promotion", "unknown", payNothing, false},
		networkDef{"Influencers", "Direkt & Partner", PayEvent, false},
		networkDef{"Google Ads Search", "Google Ads", PayClick, true}),
	campaigns: []string{
		"{geo}_{os}_AEO_Purchase", "{geo}_{os}_Retargeting_30d", "{geo} | {os} | LAL 1%", "{geo}_{os}_Broad_Install",
		"{os}_{geo}_AlwaysOn",
		"{geo}_{os}_tROAS_D7", "{geo}_{os}_tCPA_Level10", "{geo} | {os} | LAL 5% payers", "{geo}_{os}_Brand",
		"{os}_{geo}_VO_Scale",
		"{geo}_{os}_Playables", "{geo}_{os}_UGC_Video", "{geo} | {os} | Interests", "{geo}_{os}_Launch_Burst",
		"{os}_{geo}_CreativeTest",
		"{geo}_{os}_Weekend", "{geo}_{os}_WinBack_90d", "{geo} | {os} | Broad 25+", "{geo}_{os}_tROAS_D0",
		"{os}_{geo}_Subscribers",
	},
	adgroups: []string{"Lookalike 1%", "Broad 18+", "unknown", "Interest: puzzle", "Retargeting", "AG_01"},
	creatives: []string{"video_15s_v3", "playable_level3", "unknown", "banner_320x50", "video_30s_summer",
		"carousel_4"},
	events: eventDefs,
}

// Hostile names are such as people and machines have written: commas, quotes, line breaks,
// formulas, blanks at the ends, several scripts, and words that stand for a missing value.
var Hostile = &Names{
	apps: []string{
		"Sky Garden", "Puzzle \"Quest\", Deluxe", "Bakery Rush", "Кошки и кофе", "Word, Word & Word", "毎日パズル",
		"Idle Harbor", "Fit+Walk: Steps", "مدينة الألعاب", "Chess Club 2", "Très Chic – Mode", "unknown signals",
	},
	countries: []string{"US", "DE", "JP", "BR", "IN", "TR", "FR", "unknown", "GB", "MX"},
	networks: withPartners(networkDef{"Newsletter, May \"best of\"", "unknown", payNothing, false},
		networkDef{"Kooperation München", "Direkt & Partner", PayEvent, false},
		networkDef{"unknown", "unknown", PayClick, true}),
	campaigns: []string{
		"Summer Sale", "retargeting_30d", "US | iOS | LAL 1%", "Brand, broad", "\"Always on\"", "line one\nline two",
		"夏のセール", "Лето, скидки", "حملة الصيف", "Größe & Maß", " padded ", "a,\"b\"\n,c", "=cmd()", "-1 day", "unknown",
		"🚀 launch",
		"Über-Kampagne; Q1/Q2", "tab\there", "null", "100%_x'y",
	},
	adgroups: []string{"Lookalike 1%", "Broad, 18+", "unknown", "interest=\"puzzle\"", "リターゲ", "AG_01"},
	creatives: []string{"video_15s.mp4", "Playable: level 3", "unknown", "Banner 320x50", "Vidéo été, 30 s",
		"carousel\t4"},
	events: withNames(map[string]string{"Starter Pack": "Purchase (legacy), \"v1\"",
		"Coupon Redeemed": "Coupon, \"10% off\"\n(new)",
		"Season Pass":     "購入完了", "Gift Purchase": "Покупка"}),
}

// withPartners returns the networks of partners that every account has, and those of more.
func withPartners(more ...networkDef) []networkDef {
	return append([]networkDef{
		{"Facebook Installs", "Facebook", PayImpression, true},
		{"Instagram Installs", "Facebook", PayImpression, true},
		{"AppLovin", "AppLovin", PayInstall, true},
		{"Google Ads ACI", "Google Ads", PayClick, true},
		{"TikTok for Business", "TikTok for Business", PayClick, true},
		{"Unity Ads", "Unity", PayInstall, false},
	}, more...)
}

// withNames returns the events, with the names of some replaced: other is new names by old ones.
func withNames(other map[string]string) []eventDef {
	defs := slices.Clone(eventDefs)
	for i := range defs {
		defs[i].name = cmp.Or(other[defs[i].name], defs[i].name)
	}
	return defs
}

// systems has, by os_name, how campaigns' names write the system.
var systems = map[string]string{"android": "AND", "ios": "iOS", "fire-tv": "FireTV", "windows": "Win"}

// nameCampaign gives the slices of a campaign the n-th name, with the campaign's ID behind it, as
// networks append it. If the name contains a system, all the slices get the same one.
func (names *Names) nameCampaign(n, id int, campaign []Slice) {
	name := names.campaigns[n%len(names.campaigns)]
	geo, system := campaign[0].country, campaign[0].OSName
	for i := range campaign {
		s := &campaign[i]
		if s.country != geo {
			geo += "-" + s.country
		}
		if strings.Contains(name, "{os}") {
			s.OSName = system
		}
	}
	name = strings.NewReplacer("{geo}", geo, "{os}", cmp.Or(systems[system], "ALL")).Replace(name)
	for i := range campaign {
		campaign[i].campaignNetwork, campaign[i].campaign = name, fmt.Sprintf("%s (%d)", name, id)
		if name == "unknown" {
			campaign[i].campaign = name
		}
	}
}
