package report

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/emulator/facts"
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
	contains := strings.TrimSpace(q.Get("events__contains"))
	apps := splitList(q.Get("app_token__in"))
	records := []facts.Event{}
	for _, rec := range s.account.Catalog.Records {
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
	body := x.Body(r, "application/json")
	if err := json.NewEncoder(body).Encode(records); err == nil {
		_ = body.Close() // the client is gone: nothing to tell it
	}
}

// narrowed keeps the listed apps of a record and their tokens.
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
