package adjust

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
)

// An EventsQuery narrows the list of events; its zero value asks for all that the token may see.
type EventsQuery struct {
	Contains      string   // the whole slug, or a part of the name
	AppTokens     []string // only events of these apps
	TokensMapping bool     // fill Event.TokensByApp
}

// An Event is an event slug, under which the same-named events of several apps are reported together.
type Event struct {
	ID          string              `json:"id"` // the slug
	Name        string              `json:"name"`
	ShortName   string              `json:"short_name"`
	Section     string              `json:"section"`
	Formatting  string              `json:"formatting"` // money, integer, ...; empty when the service says null
	Description string              `json:"description"`
	AppTokens   []string            `json:"app_token"`
	Tokens      []string            `json:"tokens"`
	IsSKAdEvent bool                `json:"is_skad_event"`
	TokensByApp map[string][]string `json:"app_token_x_event_tokens_mapping,omitempty"` // app token to event tokens
	// Unknown holds the fields that this version doesn't know.
	Unknown map[string]json.RawMessage `json:"-"`
}

var eventFields = []string{"id", "name", "short_name", "section", "formatting", "description", "app_token", "tokens",
	"is_skad_event", "app_token_x_event_tokens_mapping"}

// UnmarshalJSON reads a record and keeps its unknown fields.
func (e *Event) UnmarshalJSON(b []byte) (err error) {
	type fields Event
	var f fields
	if err := json.Unmarshal(b, &f); err != nil {
		return err
	}
	f.Unknown, err = without(b, eventFields)
	*e = Event(f)
	return err
}

// without is a record's fields except the known ones; nil when there are none.
func without(record []byte, known []string) (map[string]json.RawMessage, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(record, &all); err != nil {
		return nil, err
	}
	maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool { return slices.Contains(known, name) })
	if len(all) == 0 {
		return nil, nil
	}
	return all, nil
}

// Events lists event slugs in the service's order; nil when there are none (204).
func (c *Client) Events(ctx context.Context, q EventsQuery) ([]Event, error) {
	v := url.Values{}
	if q.Contains != "" {
		v.Set("events__contains", q.Contains)
	}
	if err := set(v, "app_token__in", q.AppTokens); err != nil {
		return nil, &Error{Op: "events", Err: err}
	}
	if q.TokensMapping {
		v.Set("tokens_mapping", "true")
	}
	return fetchJSON[[]Event](ctx, c, "events", v, "a list of events")
}

// fetchJSON asks an endpoint of the reports for one JSON value; its zero value stands for 204.
func fetchJSON[T any](ctx context.Context, c *Client, endpoint string, v url.Values, what string) (T, error) {
	at := c.reports(endpoint)
	if len(v) > 0 {
		at += "?" + v.Encode()
	}
	var none, got T
	a, err := c.do(ctx, request{
		op: endpoint, url: at, types: []string{"application/json", "text/json", "text/plain"}, never: "<",
		read: func(r io.Reader) error {
			var whole T // of this attempt alone
			if err := json.NewDecoder(r).Decode(&whole); err != nil {
				return fmt.Errorf("the answer isn't %s: %w", what, err)
			}
			got = whole
			return nil
		},
	})
	if err != nil || a.Empty { // got may hold what an answer said that broke behind its end
		return none, err
	}
	return got, nil
}
