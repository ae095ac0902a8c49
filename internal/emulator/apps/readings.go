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

// An otherForm is how an endpoint's answer looks under another reading of the document. The
// endpoint has done its work.
type otherForm func(c *call, value any, err error) (any, error)

// forms are the readings that change nothing but answers: for each topic its endpoints, and the
// forms by the reading's name. A reading without a form leaves the answer as it is.
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

// read gives an answer the forms of the chosen readings.
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

// done changes answers that aren't errors.
func done(change func(any) any) otherForm {
	return func(_ *call, value any, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		return change(value), nil
	}
}

// found changes the answer about an app that is there.
func found(change func(any) any) otherForm {
	return func(_ *call, value any, err error) (any, error) {
		if _, ok := value.(appDetails); !ok {
			return value, err
		}
		return change(value), err
	}
}

// absent is the answer about an app that isn't there.
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

// forgotten is the answer about a ticket whose job is over.
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

// idle changes the answer to a request that has queued no job.
func idle(change func(map[string]any)) otherForm {
	return func(c *call, value any, err error) (any, error) {
		if o, ok := value.(map[string]any); ok && !c.queued {
			change(o)
		}
		return value, err
	}
}

// unlessFailed changes answers of POST /events without a failure.
func unlessFailed(change func(any) any) otherForm {
	return func(_ *call, value any, err error) (any, error) {
		if err != nil || len(at("failures")(value).([]any)) > 0 {
			return value, err
		}
		return change(value), nil
	}
}

// firstPage is the list cut off, unless the request says how much of it is wanted.
func firstPage(c *call, value any, err error) (any, error) {
	if list, ok := value.([]appDetails); ok && c.r.URL.Query().Get("limit") == "" {
		return list[:min(pageSize, len(list))], err
	}
	return value, err
}

// updated is an update's answer in the form of GET.
func updated(c *call, value any, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return managed(c.app(c.path[0]))
}

func listed(value any) any { return []any{value} }

func nothing(any) any { return struct{}{} }

func none(any) any { return noContent }

// under puts an answer into an object.
func under(name string) func(any) any {
	return func(value any) any { return map[string]any{name: value} }
}

// at takes out what an object has under a name, and under the next one in that.
func at(names ...string) func(any) any {
	return func(value any) any {
		for _, name := range names {
			value = plain(value).(map[string]any)[name]
		}
		return value
	}
}

// emptyAsNone is 204 for a list that is empty.
func emptyAsNone(value any) any {
	if len(plain(value).([]any)) == 0 {
		return noContent
	}
	return value
}

// statusBy is a job's status in other words.
func statusBy(value any, word func(string) string) any {
	o := plain(value).(map[string]any)
	o["status"] = word(o["status"].(string))
	return o
}

// plain is an answer as JSON has it: objects, lists and texts.
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
