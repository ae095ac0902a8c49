package sharing

import "slices"

// all stands for every partner, or for every metric.
const all = "all"

// Metrics are what sharing can be set for, each group before the metrics in it.
var Metrics = []string{"session", "install", "rejected_install", "reinstall", "reattribution", "rejected_reattribution",
	"reattribution_reinstall", "ad_revenue", "event", "sdk_click", "sdk_info", "subscription", "uninstall", "update",
	"att_update"}

// groups maps metrics to the group that they are in; every metric is also in the group all. The
// interface document names seven groups and not what is in them; the tree is that of the service's
// page on third-party sharing.
var groups = map[string]string{
	"install": "session", "rejected_install": "install", "reinstall": "session", "reattribution": "session",
	"rejected_reattribution": "session", "reattribution_reinstall": "session",
}

// above returns the groups of a metric, the nearest first, without all.
func above(metric string) (list []string) {
	for g := groups[metric]; g != ""; g = groups[g] {
		list = append(list, g)
	}
	return list
}

// isMetric tells whether sharing can be set for a name.
func isMetric(name string) bool { return name == all || slices.Contains(Metrics, name) }

// optionKeys has the groups of granular options whose keys are known, with the values of each key.
// Any partner may have a group with free keys.
var optionKeys = map[string]map[string][]string{
	"google_dma": {"eea": flags, "ad_personalization": flags, "ad_user_data": flags, "npa": flags},
	"facebook": {"data_processing_options_country": {"0", "1"}, "data_processing_options_state": {"0", "1000", "1001",
		"1002"}},
}

// flags are the values of an option that is on or off.
var flags = []string{"0", "1"}
