package spend

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"strings"

	"github.com/reportferry/reportferry/internal/emulator/reading"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// reply returns the answer to a record, in the form of the chosen readings. refused says in fixed
// words why the record was refused.
func (s *Service) reply(status int, refused string) wire.Reply {
	switch {
	case status == http.StatusOK:
		return s.taken()
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		return plain(status, 1)
	case refused == usedAgainBare || status >= 500:
		return plain(status, 0)
	}
	a := plain(status, 0)
	form := s.opts.Readings.Of(reading.SpendRefusal)
	if form == "text" && (status == http.StatusNotFound || status == http.StatusConflict || refused == usedAgain) {
		form = "words"
	}
	switch form {
	case "words":
		a.Body = []byte(refused)
	case "error":
		a.ContentType, a.Body = "application/json", asJSON(map[string]string{"error": refused})
	case "html":
		a.ContentType, a.Body = "text/html; charset=utf-8", fmt.Appendf(nil, "<!doctype html><title>%d</title><p>%s\n",
			status, html.EscapeString(refused))
	case "empty":
		a.ContentType, a.Body = "", nil
	case "422":
		if status == http.StatusBadRequest {
			name, why, _ := strings.Cut(refused, ": ")
			a.Status, a.ContentType = http.StatusUnprocessableEntity, "application/json"
			a.Body = asJSON(map[string]any{"detail": []any{map[string]any{"loc": []string{"body", name}, "msg": why}}})
		}
	}
	return a
}

// taken returns the answer to a record that was taken.
func (s *Service) taken() wire.Reply {
	a := plain(http.StatusOK, 0)
	switch s.opts.Readings.Of(reading.SpendAnswer) {
	case "json":
		a.ContentType, a.Body = "application/json", []byte(`{"status":"ok"}`)
	case "empty":
		a.ContentType, a.Body = "", nil
	case "201":
		a.Status = http.StatusCreated
	case "202":
		a.Status = http.StatusAccepted
	case "204":
		a.Status, a.ContentType, a.Body = http.StatusNoContent, "", nil
	}
	return a
}

// asJSON returns a value as JSON.
func asJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts in maps are always written
	}
	return b
}
