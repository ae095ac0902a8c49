// Package apps keeps the apps of an account as a file declares them, by the service's app
// automation. Without it, apps would be set up by hand: a forgotten parameter, or a migration that
// failed in silence, would be found in a report weeks later.
//
// A file declares apps; each has a record in the ledger of how far it has come:
//
//	look ─ nothing differs ──────────────────────────────────────────────▶ Done
//	  └─ Sending ─ POST /app ─ Waiting for the ticket ─ look ─ events, signature ─▶ Done, or Failed
//
// What the interface document leaves open is decided as follows:
//   - Only a plain answer tells that an app isn't there. After any other the app is looked for in the list of apps, and
//     where that doesn't tell either, it is sent: POST /app finds an app by platform and store ID before it makes one. If
//     it was there, what isn't declared of its channel setup is gone then, and a warning says so. A token that isn't
//     known, and trouble of the service, end the job. Refusals (403) of every read end a comparison; whether the token
//     may send the app is known when it is sent.
//   - A service may make a job for every request. Then a run that is killed while a request is under way costs a second
//     job, which copies the same template once more and changes nothing.
//   - A ticket that isn't over after ticket_wait, or isn't known, isn't waited for again: the app is compared, and when it
//     still differs, a new job is asked for; once, unless the declaration changes.
//   - The service doesn't show everything that it takes (sections, editors, the secret of iOS purchase verification), and
//     may show a value otherwise than it was sent. What still differs after an app was applied is recorded, and isn't
//     sent again until the declaration or what the service shows changes.
//   - Without force_update the service may answer with the ticket of an older job. So it is asked for a new job when the
//     channel setup, the sections or the template differ, and after a job that failed, and else never: a job copies the
//     template over the app again.
//   - A section with failures makes the app fail, whatever the ticket's status is.
//   - Declared events are compared by name after the migration, because it creates those of the template first.
package apps

import (
	"fmt"
)

// A Secret is a text that is sent and never printed.
type Secret string

const notShown = "(not shown)"

// String, GoString and Format keep the text out of every form of printing.
func (Secret) String() string { return notShown }

// GoString is for %#v.
func (Secret) GoString() string { return notShown }

// Format is for every other verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(notShown)) }

// MarshalJSON is for logs; what is sent goes through plain.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + notShown + `"`), nil }

// An App is one declared app. What is nil or empty is not declared and stays as it is.
type App struct {
	Name, BundleID, StoreID string
	Platform                string // android or ios
	Token                   string // of an app that is in the account, in place of platform and store ID
	Template                string // token of the app to copy from; empty: the account's own template
	Sections                []string

	Setup     map[string]map[string]any // channel_setup; values: string, bool, Secret, []any
	Overrides map[string]any            // override_settings; values: as JSON has them, and Secret
	Stores    map[string]string         // additional Android stores, by type
	Events    []Event
	Signature *Signature
	Editors   []string
	IOSSecret Secret
	Verify    bool
}

// An Event must be there, by its name.
type Event struct {
	Name   string
	Unique bool
}

// Signature is what of the SDK signature settings is declared.
type Signature struct {
	Enforce      *bool
	Fingerprints []string
}

// ID names the app as the service finds it: by platform and store ID, or by its token.
func (a App) ID() string {
	if a.Token != "" {
		return "token/" + a.Token
	}
	return a.Platform + "/" + a.StoreID
}

// plain gives a value as it is sent.
func plain(v any) any {
	switch v := v.(type) {
	case Secret:
		return string(v)
	case map[string]any:
		return plainMap(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plain(e)
		}
		return out
	}
	return v
}

// anyMap is a mapping of one type as one of any.
func anyMap[V any](m map[string]V) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

func plainMap(m map[string]any) map[string]any {
	if m == nil {
		return nil
	}
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = plain(v)
	}
	return out
}

// secrets are the texts of v that may not be shown.
func secrets(v any) (all []string) {
	switch v := v.(type) {
	case Secret:
		all = append(all, string(v))
	case map[string]any:
		for _, e := range v {
			all = append(all, secrets(e)...)
		}
	case []any:
		for _, e := range v {
			all = append(all, secrets(e)...)
		}
	}
	return all
}
