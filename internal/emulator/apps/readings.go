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
		"400-words": onNoApp(nil, wire.BadRequest("No such application in this account")),
		"404": onNoApp(nil, &wire.Error{Status: http.StatusNotFound, Code: wire.CodeRequest,
			Desc: "App not found"}),
		"403":          onNoApp(nil, wire.Forbidden("Access to this app is not permitted")),
		"204":          onNoApp(noContent, nil),
		"422":          onNoApp(nil, invalid("Input should be an app of this account", "query", "store_id")),
		"empty-object": onNoApp(struct{}{}, nil),
		"empty-list":   onNoApp([]any{}, nil),
		"null":         onNoApp(nil, nil),
	}},
	{reading.AppAnswer, []string{"GET app"}, map[string]otherForm{"list": onApp(inList), "app": onApp(inObject("app")),
		"apps": onApp(func(v any) any { return inObject("apps")(inList(v)) })}},
	{reading.AppsList, []string{"GET apps/list"}, map[string]otherForm{
		"apps": onSuccess(inObject("apps")),
		"data": onSuccess(inObject("data")),
		"denied": func(*call, any, error) (any, error) {
			return nil, wire.Forbidden("Listing apps is not permitted")
		},
		"204":  onSuccess(emptyListAs204),
		"page": firstPage,
	}},
	{reading.TicketUnknown, []string{"GET status/{ticket_token}"}, map[string]otherForm{
		"400": onEndedJob(wire.BadRequest("Ticket not found")),
		"404": onEndedJob(&wire.Error{Status: http.StatusNotFound, Code: wire.CodeRequest, Desc: "Ticket not found"}),
	}},
	{reading.TicketStatus, []string{"GET status/{ticket_token}"}, map[string]otherForm{
		"upper": onSuccess(func(v any) any { return statusBy(v, strings.ToUpper) }),
		"words": onSuccess(func(v any) any {
			return statusBy(v, func(own string) string {
				return map[string]string{ticketNew: "queued", ticketOpened: "processing",
					ticketCompleted: ticketCompleted, ticketFailed: "error"}[own]
			})
		}),
	}},
	{reading.TicketIdle, []string{"POST app", "POST app/{app_token}"}, map[string]otherForm{
		"null":   onNoJob(func(o map[string]any) { o["ticket_token"] = nil }),
		"empty":  onNoJob(func(o map[string]any) { o["ticket_token"] = "" }),
		"absent": onNoJob(func(o map[string]any) { delete(o, "ticket_token") }),
	}},
	{reading.UpdateAnswer, []string{"POST app/{app_token}"}, map[string]otherForm{"details": asDetails,
		"wrapped": onSuccess(inObject("app")), "empty-object": onSuccess(emptyObject), "204": onSuccess(noBody)}},
	{reading.EventsAnswer, []string{"POST events"}, map[string]otherForm{
		"list": onSuccess(func(v any) any {
			both := plain(v).(map[string]any)
			return slices.Concat(both["successes"].([]any), both["failures"].([]any))
		}),
		"empty-object": onNoFailures(emptyObject),
		"204":          onNoFailures(noBody),
	}},
	{reading.SettingsAnswer, []string{"GET app/{app_token}/settings"},
		map[string]otherForm{"settings": onSuccess(inObject("settings")), "data": onSuccess(inObject("data"))}},
	{reading.SecretsAnswer, []string{"POST app/{app_token}/secrets/revoke_outdated",
		"POST app/{app_token}/secrets/{secret_id}/revoke", "POST app/{app_token}/secrets/{secret_id}/reactivate"},
		map[string]otherForm{"bare": onSuccess(valueAt("combined_secrets")),
			"list":         onSuccess(valueAt("combined_secrets", "secrets")),
			"empty-object": onSuccess(emptyObject), "204": onSuccess(noBody)}},
	{reading.VaultAnswer, []string{"POST vault"}, map[string]otherForm{"wrapped": onSuccess(inObject("record")),
		"empty-object": onSuccess(emptyObject), "204": onSuccess(noBody)}},
	{reading.VaultAnswer, []string{"GET vault"}, map[string]otherForm{"wrapped": onSuccess(inObject("records")),
		"204": onSuccess(emptyListAs204)}},
	{reading.SignatureAnswer, []string{"PATCH app/{app_token}/signature"},
		map[string]otherForm{"wrapped": onSuccess(inObject("signature")), "empty-object": onSuccess(emptyObject),
			"204": onSuccess(noBody)}},
}

// underReadings applies the otherForms of the chosen readings to an endpoint's answer.
func (c *call) underReadings(e endpoint, value any, err error) (any, error) {
	for _, f := range forms {
		form := f.by[c.service.opts.Readings.Of(f.topic)]
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

// onSuccess returns the form that applies change to answers that aren't errors.
func onSuccess(change func(any) any) otherForm {
	return func(_ *call, value any, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		return change(value), nil
	}
}

// onApp returns the form that applies change to the answer about an app that exists.
func onApp(change func(any) any) otherForm {
	return func(_ *call, value any, err error) (any, error) {
		if _, ok := value.(appDetails); !ok {
			return value, err
		}
		return change(value), err
	}
}

// onNoApp returns the form that replaces the answer about an app that doesn't exist: by the error
// e, or else by instead.
func onNoApp(instead any, e error) otherForm {
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

// onEndedJob returns the form that answers with the error e if the ticket is unknown, or if its job
// is over.
func onEndedJob(e *wire.Error) otherForm {
	return func(_ *call, value any, err error) (any, error) {
		if err == nil {
			if status := valueAt("status")(value); status != ticketCompleted && status != ticketFailed {
				return value, nil
			}
		} else if !errors.As(err, new(*wire.Error)) {
			return nil, err
		}
		return nil, e
	}
}

// onNoJob returns the form that applies change to the answer to a request that queued no job.
func onNoJob(change func(map[string]any)) otherForm {
	return func(c *call, value any, err error) (any, error) {
		if o, ok := value.(map[string]any); ok && !c.queued {
			change(o)
		}
		return value, err
	}
}

// onNoFailures returns the form that applies change to answers of POST /events that list no
// failures.
func onNoFailures(change func(any) any) otherForm {
	return func(_ *call, value any, err error) (any, error) {
		if err != nil || len(valueAt("failures")(value).([]any)) > 0 {
			return value, err
		}
		return change(value), nil
	}
}

// firstPage cuts the list to pageSize apps, unless the request has a limit.
func firstPage(c *call, value any, err error) (any, error) {
	if list, ok := value.([]appDetails); ok && c.request.URL.Query().Get("limit") == "" {
		return list[:min(pageSize, len(list))], err
	}
	return value, err
}

// asDetails answers an update with the app's details, as GET does.
func asDetails(c *call, value any, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return managed(c.app(c.path[0]))
}

// inList puts an answer into a list of one element.
func inList(value any) any { return []any{value} }

// emptyObject answers with an empty object.
func emptyObject(any) any { return struct{}{} }

// noBody answers 204, without a body.
func noBody(any) any { return noContent }

// inObject returns a function that puts an answer into an object, as the value of the key name.
func inObject(name string) func(any) any {
	return func(value any) any { return map[string]any{name: value} }
}

// valueAt returns a function that finds the value that nested objects have under a path of keys.
func valueAt(names ...string) func(any) any {
	return func(value any) any {
		for _, name := range names {
			value = plain(value).(map[string]any)[name]
		}
		return value
	}
}

// emptyListAs204 answers 204 instead of an empty list.
func emptyListAs204(value any) any {
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
