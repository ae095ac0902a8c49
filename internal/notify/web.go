package notify

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/reportferry/reportferry/internal/address"
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
	to, bodies := formOf(at)
	p := NewPoster()
	return func(ctx context.Context, m Message) error {
		for _, content := range bodies(m) {
			if err := p.Post(ctx, to, "", content); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// encrypted refuses an address of plain HTTP on another machine, unless it allows that itself by a parameter, which it loses.
func encrypted(at *url.URL) error {
	q := at.Query()
	if !q.Has(address.InsecureKey) {
		return address.Encrypted(at)
	}
	allowed := q.Get(address.InsecureKey) == "true"
	q.Del(address.InsecureKey)
	at.RawQuery = q.Encode()
	if allowed {
		return nil
	}
	return address.Encrypted(at)
}

// services are those who take messages over HTTP in a form of their own, and how their addresses are known.
var services = []struct {
	known func(host, path string) bool
	body  func(Message) any
}{
	{func(host, path string) bool {
		return host == "hooks.slack.com" || strings.HasPrefix(path, "/services/T")
	}, slack}, // Mattermost and others take it too
	{func(_, path string) bool { return strings.HasPrefix(path, "/api/webhooks/") }, discord},
	{func(host, path string) bool {
		return host == "chat.googleapis.com" || strings.HasPrefix(path, "/v1/spaces/") && strings.HasSuffix(path, "/messages")
	}, googleChat},
	{func(host, _ string) bool {
		return strings.HasSuffix(host, ".logic.azure.com") || strings.HasSuffix(host, ".powerplatform.com") || strings.HasSuffix(host, ".webhook.office.com")
	}, teams},
}

// formOf gives where a service takes messages, and the bodies in its form. Whoever isn't known gets the message and all that it was made of.
func formOf(at *url.URL) (to string, bodies func(Message) []any) {
	if key := at.Query().Get("routing_key"); strings.HasSuffix(at.Path, "/v2/enqueue") { // PagerDuty's; its key is in the content
		bare := *at
		bare.RawQuery = ""
		return bare.String(), func(m Message) []any { return pagerDuty(key, m) }
	}
	body := plain
	for _, s := range services {
		if s.known(at.Hostname(), at.Path) {
			body = s.body
		}
	}
	return at.String(), func(m Message) []any { return []any{body(m)} }
}

// slack escapes what Slack would take for a mention or a link (https://docs.slack.dev/messaging/formatting-message-text).
func slack(m Message) any {
	return map[string]string{"text": cut(strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(m.Text()), 3900)}
}

// discord has Discord take nothing for a mention (https://docs.discord.com/developers/resources/webhook#execute-webhook).
func discord(m Message) any {
	return map[string]any{"content": cut(m.Text(), 2000), "allowed_mentions": map[string]any{"parse": []string{}}}
}

// googleChat puts a blank without a width behind what would begin a mention or a link, because Google Chat knows no escape
// (https://developers.google.com/workspace/chat/format-messages). A text has up to 4,096 characters, and a message up to 32,000 bytes
// (https://developers.google.com/workspace/chat/api/reference/rest/v1/spaces.messages/create).
func googleChat(m Message) any {
	return map[string]string{"text": cut(strings.ReplaceAll(m.Text(), "<", "<\u200b"), 4096)}
}

// teams is what a workflow of Teams takes
// (https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using).
func teams(m Message) any {
	blocks := []any{map[string]any{"type": "TextBlock", "text": cut(m.Title, 8000), "wrap": true, "weight": "Bolder"}}
	for _, line := range append(m.Lines[:len(m.Lines):len(m.Lines)], m.Link) {
		if line != "" {
			blocks = append(blocks, map[string]any{"type": "TextBlock", "text": cut(line, 8000), "wrap": true})
		}
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
