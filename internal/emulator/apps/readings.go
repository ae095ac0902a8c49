package apps

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/emulator/reading"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// An otherForm turns an endpoint's answer into what it looks like under another reading of the
// service's document. It is called after the endpoint has done its work.
type otherForm func(c *call, value any, err error) (any, error)

// forms are the readings that change only how answers look: for each topic the endpoints, and an
// otherForm by the name of the reading. A reading without one leaves the answer as it is.
var forms = []struct {
	topic     string
	endpoints []string // method and path
	by        map[string]otherForm
}{
	{reading.AppAbsent, []string{"GET app", "GET app/{app_token}"}, map[string]otherForm{
		"400-words": absent(nil, wire.BadRequest("No such application in this account")),
		"404": absent(nil, &wire.Error{Status: http.StatusNotFound, Code: wire.CodeRequest,
			Desc: "App not found"}),
		"403":          absent(nil, wire.Forbidden("Access to this app is not permitted")),
		"204":          absent(noContent, nil),
		"422":          absent(nil, invalid("Input should be an app of this account", "query", "store_id")),
		"empty-object": absent(struct{}{}, nil),
		"empty-list":   absent([]any{}, nil),
		"null":         absent(nil, nil),
	}},
	{reading.AppAnswer, []string{"GET app"}, map[string]otherForm{"list": found(listed), "app": found(under("app")),
		"apps": found(func(v any) any { return under("apps")(listed(v)) })}},
	{reading.AppsList, []string{"GET apps/list"}, map[string]otherForm{
		"apps": done(under("apps")),
		"data": done(under("data")),
		"denied": func(*call, any, error) (any, error) {
			return nil, wire.Forbidden("Listing apps is not permitted")
		},
		"204":  done(emptyAsNone),
		"page": firstPage,
	}},
	{reading.TicketUnknown, []string{"GET status/{ticket_token}"}, map[string]otherForm{
		"400": forgotten(wire.BadRequest("Ticket not found")),
		"404": forgotten(&wire.Error{Status: http.StatusNotFound, Code: wire.CodeRequest, Desc: "Ticket not found"}),
	}},
	{reading.TicketStatus, []string{"GET status/{ticket_token}"}, map[string]otherForm{
		"upper": done(func(v any) any { return statusBy(v, strings.ToUpper) }),
		"words": done(func(v any) any {
			return statusBy(v, func(own string) string {
				return map[string]string{ticketNew: "queued", ticketOpened: "processing",
					ticketCompleted: ticketCompleted, ticketFailed: "error"}[own]
			})
		}),
	}},
	{reading.TicketIdle, []string{"POST app", "POST app/{app_token}"}, map[string]otherForm{
		"null":   idle(func(o map[string]any) { o["ticket_token"] = nil }),
		"empty":  idle(func(o map[string]any) { o["ticket_token"] = "" }),
		"absent": idle(func(o map[string]any) { delete(o, "ticket_token") }),
	}},
	{reading.UpdateAnswer, []string{"POST app/{app_token}"}, map[string]otherForm{"details": updated,
		"wrapped": done(under("app")), "empty-object": done(nothing), "204": done(none)}},
	{reading.EventsAnswer, []string{"POST events"}, map[string]otherForm{
		"list": done(func(v any) any {
			both := plain(v).(map[string]any)
			return slices.Concat(both["successes"].([]any), both["failures"].([]any))
		}),
		"empty-object": unlessFailed(nothing),
		"204":          unlessFailed(none),
	}},
	{reading.SettingsAnswer, []string{"GET app/{app_token}/settings"},
		map[string]otherForm{"settings": done(under("settings")), "data": done(under("data"))}},
	{reading.SecretsAnswer, []string{"POST app/{app_token}/secrets/revoke_outdated",
		"POST app/{app_token}/secrets/{secret_id}/revoke", "POST app/{app_token}/secrets/{secret_id}/reactivate"},
		map[string]otherForm{"bare": done(at("combined_secrets")), "list": done(at("combined_secrets", "secrets")),
			"empty-object": done(nothing), "204": done(none)}},
	{reading.VaultAnswer, []string{"POST vault"}, map[string]otherForm{"wrapped": done(under("record")),
		"empty-object": done(nothing), "204": done(none)}},
	{reading.VaultAnswer, []string{"GET vault"}, map[string]otherForm{"wrapped": done(under("records")),
		"204": done(emptyAsNone)}},
	{reading.SignatureAnswer, []string{"PATCH app/{app_token}/signature"},
		map[string]otherForm{"wrapped": done(under("signature")), "empty-object": done(nothing), "204": done(none)}},
}

// read applies the otherForms of the chosen readings to an endpoint's answer.
func (c *call) read(e endpoint, value any, err error) (any, error) {
	for _, f := range forms {
		form := f.by[c.s.opts.Readings.Of(f.topic)]
		if form != nil && slices.Contains(f.endpoints, e.method+" "+e.path) {
			value, err = form(c, value, err)
		}
	}
	return value, err
}

// noContent is a 204.
var noContent = wire.Reply{Status: http.StatusNoContent}

// pageSize is how many apps a list has under the reading page.
const pageSize = 2

// done applies change to answers that aren't errors.
func done(change func(any) any) otherForm {
	return func(_ *call, value any, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		return change(value), nil
	}
}

// found applies change to the answer about an app that exists.
func found(change func(any) any) otherForm {
	return func(_ *call, value any, err error) (any, error) {
		if _, ok := value.(appDetails); !ok {
			return value, err
		}
		return change(value), err
	}
}

// absent replaces the answer about an app that doesn't exist: by the error e, or else by instead.
func absent(instead any, e error) otherForm {
	return func(_ *call, value any, err error) (any, error) {
		switch {
		case !errors.Is(err, errNoApp):
			return value, err
		case e != nil:
			return nil, e
		}
		return instead, nil
	}
}

// forgotten answers with the error e if the ticket is unknown, or if its job is over.
func forgotten(e *wire.Error) otherForm {
	return func(_ *call, value any, err error) (any, error) {
		if err == nil {
			if status := at("status")(value); status != ticketCompleted && status != ticketFailed {
				return value, nil
			}
		} else if !errors.As(err, new(*wire.Error)) {
			return nil, err
		}
		return nil, e
	}
}

// idle applies change to the answer to a request that queued no job.
func idle(change func(map[string]any)) otherForm {
	return func(c *call, value any, err error) (any, error) {
		if o, ok := value.(map[string]any); ok && !c.queued {
			change(o)
		}
		return value, err
	}
}

// unlessFailed applies change to answers of POST /events that list no failures.
func unlessFailed(change func(any) any) otherForm {
	return func(_ *call, value any, err error) (any, error) {
		if err != nil || len(at("failures")(value).([]any)) > 0 {
			return value, err
		}
		return change(value), nil
	}
}

// firstPage cuts the list to pageSize apps, unless the request has a limit.
func firstPage(c *call, value any, err error) (any, error) {
	if list, ok := value.([]appDetails); ok && c.r.URL.Query().Get("limit") == "" {
		return list[:min(pageSize, len(list))], err
	}
	return value, err
}

// updated answers an update with the app's details, as GET does.
func updated(c *call, value any, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return managed(c.app(c.path[0]))
}

// listed puts an answer into a list of one element.
func listed(value any) any { return []any{value} }

// nothing answers with an empty object.
func nothing(any) any { return struct{}{} }

// none answers 204, without a body.
func none(any) any { return noContent }

// under puts an answer into an object, as the value of the key name.
func under(name string) func(any) any {
	return func(value any) any { return map[string]any{name: value} }
}

// at returns the value that nested objects have under a path of keys.
func at(names ...string) func(any) any {
	return func(value any) any {
		for _, name := range names {
			value = plain(value).(map[string]any)[name]
		}
		return value
	}
}

// emptyAsNone answers 204 instead of an empty list.
func emptyAsNone(value any) any {
	if len(plain(value).([]any)) == 0 {
		return noContent
	}
	return value
}

// statusBy replaces a job's status by what word makes of it.
func statusBy(value any, word func(string) string) any {
	o := plain(value).(map[string]any)
	o["status"] = word(o["status"].(string))
	return o
}

// plain converts an answer to what its JSON decodes to: maps, lists and texts.
func plain(value any) (out any) {
	text, err := json.Marshal(value)
	if err == nil {
		err = decodeKept(string(text), &out)
	}
	if err != nil {
		panic(fmt.Sprintf("apps: an answer isn't JSON: %v", err)) // answers are made here
	}
	return out
}
