package sharing

import (
	"encoding/json"
	"html"
	"net/http"

	"github.com/reportferry/reportferry/internal/emulator/reading"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// sayJSON returns an answer with an object.
func sayJSON(status int, object any) wire.Reply {
	body, err := json.Marshal(object)
	if err != nil {
		panic(err) // the objects hold only what JSON can have
	}
	return wire.Reply{Status: status, ContentType: "application/json", Body: body}
}

// sayText returns an answer with a text.
func sayText(status int, text string) wire.Reply {
	return wire.Reply{Status: status, ContentType: "text/plain; charset=utf-8", Body: []byte(text)}
}

// failure returns an error in the words of the one that is documented.
func failure(status int, reason string) wire.Reply {
	return sayJSON(status, map[string]string{"error": "Third party sharing failed (" + reason + ")"})
}

// scriptedFailure returns the answer of a scripted status.
func scriptedFailure(status, retryAfter int) wire.Reply {
	a := failure(status, http.StatusText(status))
	a.RetryAfter = retryAfter
	return a
}

// taken returns the answer to a request that was taken, as a whole or without its invalid parts.
func (s *Service) taken(bad *issues) wire.Reply {
	if bad.any() {
		return s.partly("Third party sharing partially failed (" + bad.text() + ")")
	}
	switch s.opts.Readings.Of(reading.SharingOK) {
	case "success":
		return sayJSON(http.StatusOK, map[string]string{"status": "success",
			"message": "Third party sharing settings were updated"})
	case "text":
		return sayText(http.StatusOK, "OK")
	case "empty":
		return wire.Reply{Status: http.StatusOK}
	case "204":
		return wire.Reply{Status: http.StatusNoContent}
	}
	return sayJSON(http.StatusOK, map[string]string{"status": "OK"})
}

// partly returns the answer to a request that was taken in part.
func (s *Service) partly(words string) wire.Reply {
	switch s.opts.Readings.Of(reading.SharingPartly) {
	case "errors":
		return sayJSON(http.StatusAccepted, map[string]any{"errors": []any{map[string]string{"message": words}}})
	case "text":
		return sayText(http.StatusAccepted, words)
	case "html":
		page := "<!doctype html><title>202</title><p>" + html.EscapeString(words) + "\n"
		return wire.Reply{Status: http.StatusAccepted, ContentType: "text/html; charset=utf-8", Body: []byte(page)}
	case "empty":
		return wire.Reply{Status: http.StatusAccepted}
	}
	return sayJSON(http.StatusAccepted, map[string]string{"error": words})
}

// refusal returns the answer to a request when nothing of it was taken.
func (s *Service) refusal(reason string, bad *issues, h http.Header) wire.Reply {
	if reason == notAllowed {
		return s.denial(h)
	}
	how := s.opts.Readings.Of(reading.SharingRefusal)
	switch {
	case how == "sibling" && reason == noApp:
		return sayJSON(http.StatusNotFound, map[string]string{"error": "App token not found"})
	case how == "sibling" && reason == tooLarge:
		return sayJSON(http.StatusRequestEntityTooLarge, map[string]string{"error": tooLarge})
	case how == "403" && reason == noApp:
		return sayJSON(http.StatusForbidden, map[string]string{"error": "App is inactive"})
	}
	if reason == noValidPart {
		reason = bad.text()
	}
	if how == "422" {
		return sayJSON(http.StatusUnprocessableEntity,
			map[string]any{"detail": []any{map[string]any{"loc": []string{"body"}, "msg": reason}}})
	}
	return failure(http.StatusBadRequest, reason)
}

// denial returns the answer to a request without the token that it needs.
func (s *Service) denial(h http.Header) wire.Reply {
	switch s.opts.Readings.Of(reading.SharingAuth) {
	case "401":
		return sayJSON(http.StatusUnauthorized, map[string]string{"error": notAllowed})
	case "403":
		return sayJSON(http.StatusForbidden, map[string]string{"error": notAllowed})
	case "202":
		if h.Get("Authorization") == "" {
			return sayText(http.StatusAccepted, "Missing authentication token")
		}
		return sayText(http.StatusAccepted, "Wrong authentication token")
	}
	return failure(http.StatusBadRequest, notAllowed)
}
