package adjust

import (
	"fmt"
	"net/url"
	"slices"
)

// appTokenIn is the filter that names the apps whose rows are wanted.
const appTokenIn = "app_token__in"

// UsualMaxURL is the most bytes of an address, unless the options say otherwise. Servers and
// proxies take 8,000, as RFC 9110, section 4.1, asks them to; the rest is for what a proxy adds.
const UsualMaxURL = 6000

// A part is what one address has room for: some of the apps, and some of the metrics.
type part struct{ apps, metrics []string }

// parts cuts the lists of apps and of metrics into groups, so that each address, with its query,
// has at most so many bytes. It returns a part for each pair of groups, or a single part if:
//   - everything fits in one address;
//   - the query has a DatePeriod;
//   - the metrics need cutting, and rows of groups of them couldn't be joined;
//   - neither list is what makes the address long.
//
// It returns an error if the apps need cutting, and answers for groups of them can't be added.
func (q ReportQuery) parts(address, query string, most int) (list []part, err error) {
	// Work out the room for both lists together, and how much of it each would need.
	size := most - len(address)
	apps := q.Filters[appTokenIn]
	joinable := len(q.Sort)+len(q.Index) == 0 && q.PeriodOverPeriod == "" && !q.ReadableNames
	ofApps, ofMetrics := escapedSize(apps), escapedSize(q.Metrics)
	room := size - len(query) + ofApps + ofMetrics
	if len(query) <= size || q.DatePeriod != "" || room < size/2 {
		return []part{{apps, q.Metrics}}, nil
	}
	// The metrics get half of the room, or more if the apps need less than half.
	groups := [][]string{q.Metrics}
	switch forMetrics := max(room/2, room-ofApps); {
	case ofMetrics <= forMetrics:
	case joinable:
		groups = inGroups(q.Metrics, forMetrics)
		ofMetrics = forMetrics
	default:
		return []part{{apps, q.Metrics}}, nil
	}
	// The apps get the rest.
	lists := inGroups(apps, room-ofMetrics)
	if len(lists) > 1 && !q.Summable && !slices.Contains(q.Dimensions, "app_token") {
		return nil, fmt.Errorf("the list of %d apps makes an address of %d bytes, and max_url is %d: add app_token "+
			"to the dimensions or name "+
			"fewer apps, because not all metrics here add up over apps, so that it can't be asked for in groups of "+
			"them", len(apps), len(address)+len(query), most)
	}
	for _, apps := range lists {
		for _, metrics := range groups {
			list = append(list, part{apps, metrics})
		}
	}
	return list, nil
}

// inGroups cuts a list so that each group of it takes at most size bytes of an address, or is a
// single value.
func inGroups(list []string, size int) (groups [][]string) {
	left := 0
	for i, value := range list {
		taken := escapedSize(list[i : i+1])
		if left -= taken; left < 0 {
			groups, left = append(groups, nil), size-taken
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], value)
	}
	if groups == nil {
		return [][]string{nil}
	}
	return groups
}

// escapedSize returns the bytes that a list takes in an address.
func escapedSize(list []string) (size int) {
	for _, value := range list {
		size += len(url.QueryEscape(value)) + 1
	}
	return size
}
