package notify

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/address"
)

// Sender returns a function that sends messages to an address: a web address, or
// smtp://user:password@host:587/?from=...&to=... Errors don't contain the address, which is a
// secret.
func Sender(address string) (func(context.Context, Message) error, error) {
	at, err := url.Parse(strings.TrimSpace(address))
	switch {
	case err != nil || at.Host == "":
		return nil, errors.New("what is referred to isn't an address such as https://hooks.slack.com/services/... " +
			"or smtp://host/?from=a@b.example&to=c@d.example")
	case at.Scheme == "smtp" || at.Scheme == "smtps":
		return mailer(at)
	case at.Scheme != "http" && at.Scheme != "https":
		return nil, fmt.Errorf("an address with %s:// isn't known; want https://, smtp:// or smtps://", at.Scheme)
	}
	if err := requireEncryption(at); err != nil {
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

// requireEncryption refuses an address of plain HTTP on another machine, unless the address has a
// parameter that allows it. It removes that parameter from the address.
func requireEncryption(at *url.URL) error {
	q := at.Query()
	allowed := q.Get(address.InsecureKey) == "true"
	if q.Has(address.InsecureKey) {
		q.Del(address.InsecureKey)
		at.RawQuery = q.Encode()
	}
	if allowed {
		return nil
	}
	return address.Encrypted(at)
}

// formOf returns the address at which a service takes messages, and a function that returns the
// bodies of a message in the service's form. An address of no known service gets the message and
// all that it was made of.
func formOf(at *url.URL) (to string, bodies func(Message) []any) {
	host, path, body := at.Hostname(), at.Path, otherReceiver
	switch {
	case strings.HasSuffix(path, "/v2/enqueue"): // PagerDuty's; its key is in the content
		bare := *at
		bare.RawQuery = ""
		return bare.String(), func(m Message) []any { return pagerDuty(at.Query().Get("routing_key"), m) }
	case strings.HasSuffix(host, ".logic.azure.com"), strings.HasSuffix(host, ".powerplatform.com"),
		strings.HasSuffix(host, ".webhook.office.com"):
		body = teams
	case host == "chat.googleapis.com", strings.HasPrefix(path, "/v1/spaces/") && strings.HasSuffix(path, "/messages"):
		body = googleChat
	case strings.HasPrefix(path, "/api/webhooks/"):
		body = discord
	case host == "hooks.slack.com", strings.HasPrefix(path, "/services/T"): // Mattermost and others take it too
		body = slack
	}
	return at.String(), func(m Message) []any { return []any{body(m)} }
}

// An object is a JSON object.
type object = map[string]any

// slack returns the body for Slack. It escapes what Slack would take for a mention or a link
// (https://docs.slack.dev/messaging/formatting-message-text).
func slack(m Message) any {
	return map[string]string{"text": cut(strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(m.Text()),
		3900)}
}

// discord returns the body for Discord, and has it take nothing for a mention
// (https://docs.discord.com/developers/resources/webhook#execute-webhook).
func discord(m Message) any {
	return object{"content": cut(m.Text(), 2000), "allowed_mentions": object{"parse": []string{}}}
}

// googleChat returns the body for Google Chat. It puts a zero-width space behind what would begin a
// mention or a link, because Google Chat knows no escape
// (https://developers.google.com/workspace/chat/format-messages). A text has up to 4,096
// characters, and a message up to 32,000 bytes
// (https://developers.google.com/workspace/chat/api/reference/rest/v1/spaces.messages/create).
func googleChat(m Message) any {
	return map[string]string{"text": cut(strings.ReplaceAll(m.Text(), "<", "<\u200b"), 4096)}
}

// teams returns the body that a workflow of Teams takes
// (https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using).
func teams(m Message) any {
	blocks := []any{object{"type": "TextBlock", "text": cut(m.Title, 8000), "wrap": true, "weight": "Bolder"}}
	for _, line := range slices.Concat(m.Lines, []string{m.Link}) {
		if line != "" {
			blocks = append(blocks, object{"type": "TextBlock", "text": cut(line, 8000), "wrap": true})
		}
	}
	card := object{"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard",
		"version": "1.4", "body": blocks}
	return object{"type": "message", "attachments": []any{object{"contentType": "application/" +
		"vnd.microsoft.card.adaptive", "content": card}}}
}

// pagerDuty returns an event for each incident, which PagerDuty opens and closes itself
// (https://developer.pagerduty.com/docs/events-api-v2/trigger-events/).
func pagerDuty(key string, m Message) (events []any) {
	for _, i := range m.Items {
		action, severity := "trigger", "warning"
		if i.Kind == resolved {
			action = "resolve"
		}
		if i.Reason == Denied || i.Reason == Failed {
			severity = "error"
		}
		e := object{"routing_key": key, "dedup_key": cut(i.ID, 255), "event_action": action, "payload": object{
			"summary": cut(i.line(), 1024), "source": "reportferry", "severity": severity, "component": i.Job,
			"class": i.Reason,
		}}
		if m.Link != "" {
			e["links"] = []any{object{"href": m.Link, "text": "console"}}
		}
		events = append(events, e)
	}
	return events
}

// otherReceiver returns the body for any other receiver, which reads JSON.
func otherReceiver(m Message) any {
	list := []any{}
	for _, i := range m.Items {
		list = append(list, object{
			"id": i.ID, "kind": i.Kind, "job": i.Job, "reason": i.Reason, "from": i.From, "through": i.Through,
			"count": i.Count, "what": i.What, "command": i.Do,
			"condition": strings.Join(i.Conditions, ", "),
		})
	}
	return object{"title": m.Title, "text": m.Text(), "link": m.Link, "incidents": list}
}

// cut shortens a text to at most so many bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-3], "") + "..."
}
