package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/reportferry/reportferry/sinks"
)

// Sender gives what sends messages to an address: a web address, or smtp://user:password@host:587/?from=...&to=... Its errors don't have the
// address in them, which is a secret.
func Sender(address string) (func(context.Context, Message) error, error) {
	at, err := url.Parse(strings.TrimSpace(address))
	switch {
	case err != nil || at.Host == "":
		return nil, errors.New("what is referred to isn't an address such as https://hooks.slack.com/services/... or smtp://host/?from=a@b.example&to=c@d.example")
	case at.Scheme == "smtp" || at.Scheme == "smtps":
		return mailer(at)
	case at.Scheme != "http" && at.Scheme != "https":
		return nil, fmt.Errorf("an address with %s:// isn't known; want https://, smtp:// or smtps://", at.Scheme)
	}
	if err := encrypted(at); err != nil {
		return nil, err
	}
	body := bodyFor(at)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return func(ctx context.Context, m Message) error {
		for _, content := range body(m) {
			if err := post(ctx, client, at, content); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// encrypted refuses an address of plain HTTP on another machine, unless it allows that itself by a parameter, which it loses.
func encrypted(at *url.URL) error {
	q := at.Query()
	if !q.Has(sinks.InsecureKey) {
		return sinks.Encrypted(at)
	}
	allowed := q.Get(sinks.InsecureKey) == "true"
	q.Del(sinks.InsecureKey)
	at.RawQuery = q.Encode()
	if allowed {
		return nil
	}
	return sinks.Encrypted(at)
}

func post(ctx context.Context, client *http.Client, at *url.URL, content any) error {
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	to := *at
	if isPagerDuty(at) {
		to.RawQuery = "" // its key is in the content
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(text))
	if err != nil {
		return errors.New("its address isn't understood")
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // its text has the address
		}
		return err
	}
	_ = resp.Body.Close() // what it says may repeat the address
	if resp.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("it answered %s", resp.Status[:min(len(resp.Status), 3)]+" "+http.StatusText(resp.StatusCode))
	}
	return nil
}

func isPagerDuty(at *url.URL) bool { return strings.HasSuffix(at.Path, "/v2/enqueue") }

// bodyFor gives the bodies that a service wants, by its address. Whoever isn't known gets the message and all that it was made of.
func bodyFor(at *url.URL) func(Message) []any {
	host := at.Hostname()
	switch {
	case host == "hooks.slack.com" || strings.HasPrefix(at.Path, "/services/T"): // Mattermost and others take Slack's form too
		return func(m Message) []any { return []any{map[string]string{"text": slackText(m)}} }
	case strings.HasPrefix(at.Path, "/api/webhooks/"): // Discord (https://docs.discord.com/developers/resources/webhook#execute-webhook)
		return func(m Message) []any {
			return []any{map[string]any{"content": cut(m.Text(), 2000), "allowed_mentions": map[string]any{"parse": []string{}}}}
		}
	case strings.HasSuffix(host, ".logic.azure.com") || strings.HasSuffix(host, ".powerplatform.com") || strings.HasSuffix(host, ".webhook.office.com"):
		return func(m Message) []any { return []any{teamsCard(m)} }
	case isPagerDuty(at):
		return func(m Message) []any { return pagerDuty(at.Query().Get("routing_key"), m) }
	}
	return func(m Message) []any { return []any{plain(m)} }
}

// slackText escapes what Slack would take for a mention or a link (https://docs.slack.dev/messaging/formatting-message-text).
func slackText(m Message) string {
	return cut(strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(m.Text()), 3900)
}

// teamsCard is what a workflow of Teams takes
// (https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using).
func teamsCard(m Message) any {
	block := func(text string, bold bool) any {
		b := map[string]any{"type": "TextBlock", "text": cut(text, 8000), "wrap": true}
		if bold {
			b["weight"] = "Bolder"
		}
		return b
	}
	blocks := []any{block(m.Title, true)}
	for _, line := range m.Lines {
		blocks = append(blocks, block(line, false))
	}
	if m.Link != "" {
		blocks = append(blocks, block(m.Link, false))
	}
	card := map[string]any{"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "body": blocks}
	return map[string]any{"type": "message", "attachments": []any{map[string]any{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}}}
}

// pagerDuty has an event for each incident, which that service opens and closes itself
// (https://developer.pagerduty.com/docs/events-api-v2/trigger-events/).
func pagerDuty(key string, m Message) (events []any) {
	for _, i := range m.Items {
		e := map[string]any{"routing_key": key, "dedup_key": cut(i.ID, 255), "event_action": "trigger"}
		if i.Kind == resolved {
			e["event_action"] = "resolve"
		}
		severity := "warning"
		if i.Reason == Denied || i.Reason == Failed {
			severity = "error"
		}
		e["payload"] = map[string]any{"summary": cut(i.line(i.Kind), 1024), "source": "reportferry", "severity": severity, "component": i.Job, "class": i.Reason}
		if m.Link != "" {
			e["links"] = []any{map[string]string{"href": m.Link, "text": "console"}}
		}
		events = append(events, e)
	}
	return events
}

// plain is the message for who reads JSON.
func plain(m Message) any {
	list := []any{}
	for _, i := range m.Items {
		list = append(list, map[string]any{
			"id": i.ID, "kind": i.Kind, "job": i.Job, "reason": i.Reason, "from": i.From, "through": i.Through, "count": i.Count, "what": i.What, "command": i.Do,
			"condition": strings.Join(i.Conditions, ", "),
		})
	}
	return map[string]any{"title": m.Title, "text": m.Text(), "link": m.Link, "incidents": list}
}

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-3], "") + "..."
}
