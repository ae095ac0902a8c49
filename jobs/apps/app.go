// Package apps keeps the apps of an account as a file declares them, by the service's app
// automation. Without it, apps would be set up by hand: a forgotten parameter, or a migration that
// failed silently, would be found in a report weeks later.
//
// A file declares apps. Each app has a record in the ledger, which says how far it has come:
//
//	look ─ nothing differs ──────────────────────────────────────────────▶ Done
//	  └─ Sending ─ POST /app ─ Waiting for the ticket ─ look ─ events, signature ─▶ Done, or Failed
//
// What the interface document leaves open is decided as follows:
//   - Only a plain answer means that an app doesn't exist. After any unclear answer, the app is
//     looked for in the list of apps. Where that doesn't help either, the app is sent: POST /app
//     finds an app by platform and store ID before it creates one. If the app existed, the parts of
//     its channel setup that aren't declared are lost, and a warning says so. An unknown token, and
//     trouble of the service, end the job. When every read is refused (403), the app can't be
//     compared; whether the token may send it is known when it is sent.
//   - A service may start a job for every request. Then a run that is killed during a request costs
//     a second job, which copies the same template once more and changes nothing.
//   - A ticket whose job isn't over after ticket_wait, or that the service doesn't know, isn't
//     waited for again. The app is compared, and if it still differs, a new job is asked for: once,
//     unless the declaration changes.
//   - The service doesn't show everything that it takes (sections, editors, the secret of iOS
//     purchase verification), and may show a value in another form than it was sent. What still
//     differs after an app was applied is recorded, and isn't sent again until the declaration
//     changes, or what the service shows.
//   - Without force_update the service may answer with the ticket of an older job. So force_update
//     is set when the channel setup, the sections or the template differ, and after a job that
//     failed. Otherwise it isn't, because a job copies the template over the app again.
//   - A section with failures makes the app fail, whatever the ticket's status is.
//   - Declared events are compared by name after the migration, because it creates those of the
//     template first.
package apps

import (
	"fmt"
)

// A Secret is a text that is sent and never printed.
type Secret string

// notShown is printed in place of a secret.
const notShown = "(not shown)"

// String, GoString and Format keep the text out of every form of printing.
func (Secret) String() string { return notShown }

// GoString implements fmt.GoStringer, for %#v.
func (Secret) GoString() string { return notShown }

// Format implements fmt.Formatter, for every other verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(notShown)) }

// MarshalJSON hides the text in logs. Requests get the text itself, by plain.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + notShown + `"`), nil }

// An App is one declared app. A field that is nil or empty isn't declared, and its setting stays as
// it is.
type App struct {
	Name, BundleID, StoreID string
	Platform                string // android or ios
	Token                   string // of an existing app of the account, in place of platform and store ID
	Template                string // token of the app to copy from; empty: the account's own template
	Sections                []string

	Setup     map[string]map[string]any // channel_setup; values: string, bool, Secret, []any
	Overrides map[string]any            // override_settings; values: as JSON has them, and Secret
	Stores    map[string]string         // additional Android stores, by type
	Events    []Event
	Signature *Signature
	Editors   []string
	IOSSecret Secret // ios_pv_shared_secret, of iOS purchase verification
	Verify    bool   // verification: ask for iOS app verification
}

// An Event is an event that the app must have; events are told apart by name.
type Event struct {
	Name   string
	Unique bool
}

// Signature is the part of the SDK signature settings that is declared.
type Signature struct {
	Enforce      *bool
	Fingerprints []string
}

// ID returns what the service finds the app by: its platform and store ID, or its token.
func (a App) ID() string {
	if a.Token != "" {
		return "token/" + a.Token
	}
	return a.Platform + "/" + a.StoreID
}

// plain returns a value as it is sent, with the texts of its secrets.
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

// anyMap returns a map of values of one type as a map of any.
func anyMap[V any](m map[string]V) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// plainMap does what plain does for a map; nil stays nil.
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

// secrets returns the texts in v that may not be shown.
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
