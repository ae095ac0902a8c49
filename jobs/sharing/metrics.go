package sharing

import "slices"

// all is every partner, or every metric.
const all = "all"

// Metrics are what sharing is set for, groups before what is in them.
var Metrics = []string{"session", "install", "rejected_install", "reinstall", "reattribution", "rejected_reattribution",
	"reattribution_reinstall", "ad_revenue", "event", "sdk_click", "sdk_info", "subscription", "uninstall", "update",
	"att_update"}

// groups are the metrics that others are in; all of them are in all. The interface document names
// seven groups and not what is in them; the tree is that of the service's page on third-party
// sharing.
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

// optionKeys are the keys of the groups of granular options whose values are known. Any partner may
// have a group of free ones.
var optionKeys = map[string]map[string][]string{
	"google_dma": {"eea": flags, "ad_personalization": flags, "ad_user_data": flags, "npa": flags},
	"facebook": {"data_processing_options_country": {"0", "1"}, "data_processing_options_state": {"0", "1000", "1001",
		"1002"}},
}

var flags = []string{"0", "1"}
