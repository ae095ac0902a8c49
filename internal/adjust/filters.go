package adjust

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
)

// A Filter is one value that a filter or parameter of reports can take, such as a metric.
type Filter struct {
	ID          string `json:"id"` // the value to send: a slug or another ID
	Name        string `json:"name"`
	ShortName   string `json:"short_name"`
	Section     string `json:"section"`
	Formatting  string `json:"formatting"` // of a metric: money, integer, percent, ...
	Description string `json:"description"`
}

// UnmarshalJSON reads an item. The ID may be a text or a number; null is read as no ID.
func (f *Filter) UnmarshalJSON(b []byte) (err error) {
	type fields Filter
	item := struct {
		fields
		ID json.RawMessage `json:"id"`
	}{}
	if err := json.Unmarshal(b, &item); err != nil {
		return err
	}
	id := string(item.ID)
	switch {
	case strings.HasPrefix(id, `"`):
		err = json.Unmarshal(item.ID, &item.fields.ID)
	case strings.HasPrefix(id, "{") || strings.HasPrefix(id, "["):
		return errors.New("an item's id is " + id + "; want a text or a number")
	case id != "null":
		item.fields.ID = id
	}
	if err != nil {
		return err
	}
	*f = Filter(item.fields)
	return err
}

// FiltersData returns lists of the service's metrics and of other values that reports take, by the
// names of the lists: overview_metrics, cohort_metrics, event_metrics, cost_metrics, skad_metrics,
// dimensions, apps, currencies and others. The result is nil when there is nothing (204).
//
// The endpoint isn't in the document that this client follows; the source is the service's OpenAPI
// file of June 2024. Nothing may depend on the endpoint.
func (c *Client) FiltersData(ctx context.Context, filters []string) (map[string][]Filter, error) {
	v := url.Values{}
	if len(filters) == 0 {
		return nil, &Error{Op: "filters_data", Err: errors.New("no list is named, such as overview_metrics")}
	}
	if err := setList(v, "required_filters", filters); err != nil {
		return nil, &Error{Op: "filters_data", Err: err}
	}
	return fetchReport[map[string][]Filter](ctx, c, "filters_data", v, "an object of lists")
}
