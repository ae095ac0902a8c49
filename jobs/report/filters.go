package report

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/catalog"
)

// valueLists maps dimensions to the list of filters_data that has their values. Source: the
// service's OpenAPI file of June 2024.
var valueLists = map[string]string{
	"app": "apps", "app_token": "apps", "country": "countries", "country_code": "countries", "network": "networks",
	"os_name":    "os_names",
	"partner_id": "partners", "partner_name": "partners", "store_type": "store_type",
}

// FilterRemarks looks for the values of the job's filters __in and __not_in in the service's own
// lists. It returns a remark for each value that the list lacks, with similar values, and for each
// filter that the service has no list for. Without it nobody would notice a value that matches
// nothing: it makes an empty table, which agrees with its totals.
func (k *Kind) FilterRemarks(ctx context.Context) []string { return k.filterRemarks(ctx, k.o.Client) }

// filterRemarks does the work of FilterRemarks, with a client that may count the requests.
func (k *Kind) filterRemarks(ctx context.Context, client *adjust.Client) (remarks []string) {
	for _, filter := range slices.Sorted(maps.Keys(k.o.Query.Filters)) {
		at := strings.LastIndex(filter, "__")
		dimension, operator := filter[:at], filter[at+2:]
		if operator != "in" && operator != "not_in" {
			continue
		}
		name, has := valueLists[dimension]
		var lists map[string][]adjust.Filter
		if has {
			lists, _ = client.FiltersData(ctx, []string{name}) // on an error, there is no list
		}
		if len(lists[name]) == 0 {
			remarks = append(remarks,
				fmt.Sprintf("filters: %s: the service lists no values of it, so that nothing tells whether they are "+
					"right", filter))
			continue
		}
		var known []string
		for _, item := range lists[name] {
			known = append(known, item.ID, item.Name)
		}
		slices.Sort(known)
		known = slices.Compact(known)
		for _, value := range k.o.Query.Filters[filter] {
			if slices.ContainsFunc(known, func(v string) bool { return strings.EqualFold(v, value) }) {
				continue
			}
			near := ""
			if nearest := catalog.Nearest(value, known); len(nearest) > 0 {
				near = "; did you mean " + strings.Join(nearest, " or ") + "?"
			}
			remarks = append(remarks, fmt.Sprintf("filters: %s: the service has no %s %q%s", filter, dimension, value,
				near))
		}
	}
	return remarks
}
