package report

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/reading"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// serveEvents answers GET /events.
func (s *Service) serveEvents(x *wire.Exchange, r *http.Request) {
	q := r.URL.Query()
	mapping, bad := boolParam(q, "tokens_mapping", false)
	if bad != nil {
		x.Fail(bad)
		return
	}
	known := []string{"events__contains", "event__contains", "app_token__in", "tokens_mapping"}
	if bad := s.refuseUnknown(q, func(name string) bool { return slices.Contains(known, name) }); bad != nil {
		x.Fail(bad)
		return
	}
	// In documents of 2023 the parameter is named event__contains.
	contains := strings.TrimSpace(cmp.Or(q.Get("events__contains"), q.Get("event__contains")))
	apps := filterList(q.Get("app_token__in"))
	records := []facts.Event{}
	for _, rec := range s.account.Catalog.Records {
		if contains != "" && rec.ID != contains && !strings.Contains(strings.ToLower(rec.Name),
			strings.ToLower(contains)) {
			continue
		}
		if len(apps) > 0 {
			some := narrowed(rec, apps)
			if len(some.AppToken) == 0 {
				continue
			}
			if x.Readings.Is(reading.EventsUnderApps, "narrowed") {
				rec = some
			}
		}
		if hidden := x.Fault.Hidden(); hidden != "" {
			rec = narrowed(rec, slices.DeleteFunc(slices.Clone(rec.AppToken),
				func(app string) bool { return app == hidden }))
		}
		if len(rec.AppToken) == 0 {
			continue
		}
		if !mapping {
			rec.Mapping = nil
		}
		records = append(records, rec)
	}
	if len(records) == 0 && x.Readings.Is(reading.EventsEmpty, "204") {
		x.WriteHeader(http.StatusNoContent)
		return
	}
	body := x.Body(r, "application/json")
	if err := json.NewEncoder(body).Encode(eventsAnswer(records, x.Readings)); err == nil {
		_ = body.Close() // an error means that the client is gone
	}
}

// narrowed returns a record with only the listed apps and their tokens.
func narrowed(e facts.Event, apps []string) facts.Event {
	mapping := map[string][]string{}
	tokens, owners := []string{}, []string{}
	for _, a := range e.AppToken {
		if slices.ContainsFunc(apps, func(want string) bool { return strings.EqualFold(want, a) }) {
			owners = append(owners, a)
			tokens = append(tokens, e.Mapping[a]...)
			mapping[a] = e.Mapping[a]
		}
	}
	e.AppToken, e.Tokens, e.Mapping = owners, tokens, mapping
	return e
}

// eventsAnswer returns the list in the form of the chosen readings.
func eventsAnswer(records []facts.Event, chosen reading.Set) any {
	if len(records) == 0 && chosen.Is(reading.EventsEmpty, "null") {
		return nil
	}
	form := chosen.Of(reading.EventsForm)
	if form == "whole" {
		return records
	}
	list := []map[string]any{}
	for _, rec := range records {
		list = append(list, eventFields(rec, form))
	}
	if form == "object" {
		return map[string]any{"events": list}
	}
	return list
}

// eventFields returns the fields that a record has in one of the other forms.
func eventFields(rec facts.Event, form string) map[string]any {
	fields := map[string]any{"id": rec.ID, "name": rec.Name, "app_token": rec.AppToken, "tokens": rec.Tokens,
		"is_skad_event": rec.IsSkadEvent}
	if rec.Mapping != nil {
		fields["app_token_x_event_tokens_mapping"] = rec.Mapping
	}
	formatting := ""
	if rec.Formatting != nil {
		formatting = *rec.Formatting
	}
	for name, text := range map[string]string{"short_name": rec.ShortName, "section": rec.Section,
		"formatting": formatting, "description": rec.Description} {
		switch {
		case text == "" && form == "absent":
		case text == "" && form == "null":
			fields[name] = nil
		case form == "capitals" && text != "" && (name == "section" || name == "formatting"):
			fields[name] = strings.ToUpper(text[:1]) + strings.ReplaceAll(text[1:], "_", " ")
		default:
			fields[name] = text
		}
	}
	if form == "more" {
		fields["increase_is_negative"], fields["archived"] = false, false
	}
	return fields
}
