package emulator

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// serveEvents answers GET /events.
func (s *reportService) serveEvents(x *exchange, r *http.Request) {
	q := r.URL.Query()
	mapping, bad := boolParam(q, "tokens_mapping", false)
	if bad != nil {
		x.fail(bad)
		return
	}
	contains := strings.TrimSpace(q.Get("events__contains"))
	apps := splitList(q.Get("app_token__in"))
	records := []eventRecord{}
	for _, rec := range s.world.catalog.records {
		if contains != "" && rec.ID != contains && !strings.Contains(strings.ToLower(rec.Name), strings.ToLower(contains)) {
			continue
		}
		if len(apps) > 0 {
			rec = narrowed(rec, apps)
		}
		if len(rec.AppToken) == 0 {
			continue
		}
		if !mapping {
			rec.Mapping = nil
		}
		records = append(records, rec)
	}
	if len(records) == 0 {
		x.WriteHeader(http.StatusNoContent)
		return
	}
	body := x.body(r, "application/json")
	if err := json.NewEncoder(body).Encode(records); err == nil {
		_ = body.Close() // the client is gone: nothing to tell it
	}
}

// narrowed keeps the listed apps of a record and their tokens.
func narrowed(e eventRecord, apps []string) eventRecord {
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
