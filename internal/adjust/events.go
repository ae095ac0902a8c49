package adjust

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/adjust/transport"
)

// An EventsQuery narrows the list of events; its zero value asks for all that the token may see.
type EventsQuery struct {
	Contains      string   // only events with this slug, or with this text in their name
	AppTokens     []string // only events of these apps
	TokensMapping bool     // fill Event.TokensByApp
}

// An Event is an event slug, under which the same-named events of several apps are reported
// together.
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
}

// Events lists event slugs in the service's order; nil when there are none (204).
func (c *Client) Events(ctx context.Context, q EventsQuery) ([]Event, error) {
	v := url.Values{}
	if q.Contains != "" {
		v.Set("events__contains", q.Contains)
	}
	if err := setList(v, "app_token__in", q.AppTokens); err != nil {
		return nil, &Error{Op: "events", Err: err}
	}
	if q.TokensMapping {
		v.Set("tokens_mapping", "true")
	}
	list, err := fetchReport[eventList](ctx, c, "events", v, "a list of events")
	if err != nil || list == nil {
		return nil, err
	}
	for i := range list {
		list[i].narrow(q.AppTokens)
	}
	return list, nil
}

// An eventList is read from an array, or from an object whose only field, events, is an array.
// Further fields might say that the list isn't complete, so an object with them is an error.
type eventList []Event

// UnmarshalJSON reads a list; null is none.
func (l *eventList) UnmarshalJSON(b []byte) error {
	var wrapped map[string]json.RawMessage
	if json.Unmarshal(b, &wrapped) == nil {
		if inner, ok := wrapped["events"]; ok && len(wrapped) == 1 {
			b = inner
		}
	}
	return json.Unmarshal(b, (*[]Event)(l))
}

// narrow removes from an event the apps that weren't asked for, and their tokens, because a service
// that was asked for some apps may name all that an event has. Without apps, and when the event
// names none of them, the event stays as it is. Only TokensByApp says which token belongs to which
// app; without it all tokens stay.
func (e *Event) narrow(apps []string) {
	asked := func(app string) bool {
		return slices.ContainsFunc(apps, func(a string) bool { return strings.EqualFold(a, app) })
	}
	if !slices.ContainsFunc(e.AppTokens, asked) {
		return
	}
	e.AppTokens = slices.DeleteFunc(e.AppTokens, func(app string) bool { return !asked(app) })
	if len(e.TokensByApp) == 0 {
		return
	}
	maps.DeleteFunc(e.TokensByApp, func(app string, _ []string) bool { return !asked(app) })
	e.Tokens = slices.DeleteFunc(e.Tokens, func(token string) bool {
		for _, of := range e.TokensByApp {
			if slices.Contains(of, token) {
				return false
			}
		}
		return true
	})
}

// fetchReport asks an endpoint of the reports for one JSON value. A 204 gives the zero value.
func fetchReport[T any](ctx context.Context, c *Client, endpoint string, v url.Values, what string) (T, error) {
	at := c.reportsURL(endpoint)
	if len(v) > 0 {
		at += "?" + v.Encode()
	}
	got, _, err := fetchJSON[T](ctx, c, transport.Request{Op: endpoint, URL: at}, what)
	return got, err
}
