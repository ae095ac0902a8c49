package apps

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/catalog"
)

// A state is what the service shows of an app.
type state struct {
	appView // of the app itself; the rest comes from its settings

	bundle    *string           // nil: not shown
	stores    map[string]string // nil: not shown
	events    map[string]bool   // name -> unique; nil: not shown
	signature map[string]any
}

// read asks the service for the state of an app. That takes two requests, one when there is no such
// app, and more when an answer leaves that open. known is the app's token from an earlier answer;
// it may be empty.
func (f *finder) read(ctx context.Context, a App, known string) (s state, err error) {
	s.appView, err = f.find(ctx, a, known)
	if err != nil || !s.exists || s.details.AppToken == "" {
		return s, err
	}
	sections := []string{"app_info"}
	if len(a.Events) > 0 {
		sections = append(sections, "events")
	}
	if a.Signature != nil {
		sections = append(sections, "signature")
	}
	settings, err := f.client.Settings(ctx, s.details.AppToken, sections...)
	switch {
	case err != nil && !adjust.Unclear(err):
		return s, err
	case err != nil:
		s.unclear = strings.TrimPrefix(s.unclear+"; "+err.Error(), "; ")
	}
	if !errors.Is(err, adjust.ErrAuth) {
		s.refusal = nil
	}
	s.readSettings(settings)
	return s, nil
}

// Events returns the events of the app with this token, which may be any app of the account.
func Events(ctx context.Context, client *adjust.Client, token string) ([]adjust.AppEvent, error) {
	settings, err := client.Settings(ctx, token, "events")
	if err != nil || settings["events"] == nil {
		return nil, err
	}
	var events []adjust.AppEvent
	if err := adjust.Unmarshal(settings["events"], &events); err != nil {
		return nil, fmt.Errorf("read the events of app %s: %w", token, err)
	}
	return events, nil
}

// readSettings fills the state from sections of the settings. A section that is missing, or has an
// unknown form, counts as not shown.
func (s *state) readSettings(settings map[string]json.RawMessage) {
	var info struct {
		Bundle *string `json:"bundle_id"`
		Stores map[string]struct {
			StoreID string `json:"store_id"`
		} `json:"stores"`
	}
	if json.Unmarshal(settings["app_info"], &info) == nil {
		s.bundle = info.Bundle
		if info.Stores != nil {
			s.stores = map[string]string{}
			for kind, store := range info.Stores {
				s.stores[kind] = store.StoreID
			}
		}
	}
	if s.details.BundleID != "" {
		s.bundle = &s.details.BundleID
	}
	var events []adjust.AppEvent
	if raw := settings["events"]; raw != nil && adjust.Unmarshal(raw, &events) == nil {
		s.events = map[string]bool{}
		for _, e := range events {
			s.events[e.Name] = e.Unique
		}
	}
	if raw := settings["signature"]; raw != nil {
		_ = json.Unmarshal(raw, &s.signature) // in an unknown form: not shown
	}
}

// warning says which values that the service doesn't show may be lost when the app is sent. It is
// empty when there is no such risk.
func (s state) warning(a App) string {
	switch {
	case a.Setup != nil:
	case s.unsure:
		return "whether the app is there isn't known; if it is, sending it clears its channel_setup, because none " +
			"is declared"
	case s.opaque && a.Token != "":
		return "the service doesn't show the app's channel_setup, and none is declared: an update may clear it"
	}
	return ""
}

// differences compares the declaration of an app with what the service shows. changes must be sent.
// staying are differences that were the same after the app was last applied, so that sending them
// again wouldn't help.
func differences(a App, s state, r record) (changes, staying []Change) {
	c := &comparison{salt: r.Salt}
	c.details(a, s)
	switch {
	case a.Setup != nil && s.opaque:
		c.migrate = true
		c.unshown(anyMap(a.Setup), "channel_setup")
	case a.Setup != nil:
		c.migrate = true
		c.value(anyMap(s.details.ChannelSetup), anyMap(a.Setup), "channel_setup")
	}
	c.migrate = false
	switch {
	case a.Overrides != nil && s.opaque:
		c.unshown(a.Overrides, "override_settings")
	case a.Overrides != nil:
		c.value(s.details.AdditionalInfo.Overrides, a.Overrides, "override_settings")
	}
	c.unshownFields(a, r)
	c.sentBy = byEvents
	for _, e := range a.Events {
		var have any
		if unique, there := s.events[e.Name]; there {
			have = map[string]any{"unique": unique}
		}
		if want := map[string]any{"unique": e.Unique}; s.exists && s.events == nil {
			c.unshown(want, "events", "["+e.Name+"]")
		} else {
			c.value(have, want, "events", "["+e.Name+"]")
		}
	}
	c.sentBy = bySignature
	c.signature(a.Signature, s)
	for _, change := range c.changes {
		if s.exists && r.Settled[change.Path] == change.sum {
			staying = append(staying, change)
		} else {
			changes = append(changes, change)
		}
	}
	return changes, staying
}

// unsent returns the changes that must be sent. A value that the service never shows counts as
// applied when this very declaration was sent and its migration has ended.
func unsent(a App, s state, r record) []Change {
	changes, _ := differences(a, s, r)
	if over := r.State == Done || r.State == Failed; over && r.Sent == a.sum(r.Salt) {
		changes = slices.DeleteFunc(changes,
			func(c Change) bool { return c.sentBy == byApp && c.Have == notShownByService })
	}
	return changes
}

// details compares the store ID, the name, the bundle ID and the additional stores.
func (c *comparison) details(a App, s state) {
	if !s.exists {
		c.value(nil, a.StoreID, "store_id")
	}
	switch {
	case a.Name == "": // not declared
	case s.opaque:
		c.unshown(a.Name, "name")
	default:
		c.value(orNil(s.details.Name), a.Name, "name")
	}
	switch {
	case a.BundleID == "": // not declared
	case s.bundle != nil:
		c.value(*s.bundle, a.BundleID, "bundle_id")
	case s.exists:
		c.unshown(a.BundleID, "bundle_id")
	default:
		c.value(nil, a.BundleID, "bundle_id")
	}
	for _, kind := range keys(anyMap(a.Stores)) {
		if s.exists && s.stores == nil {
			c.unshown(a.Stores[kind], "additional_stores", kind)
		} else {
			c.value(orNil(s.stores[kind]), a.Stores[kind], "additional_stores", kind)
		}
	}
}

// unshownFields compares the values that the service never shows. One that was sent once and is no
// longer declared is a change too.
func (c *comparison) unshownFields(a App, r record) {
	for _, f := range []struct {
		name    string
		value   any
		none    bool
		migrate bool
	}{
		{"template_app_token", a.Template, a.Template == "", true},
		{"sections", a.Sections, len(a.Sections) == 0, true},
		{"editors", a.Editors, len(a.Editors) == 0, false},
		{"ios_pv_shared_secret", a.IOSSecret, a.IOSSecret == "", false},
		{"verification", a.Verify, !a.Verify, false},
	} {
		if f.none && r.Settled[f.name] == "" {
			continue
		}
		c.migrate = f.migrate
		if f.none {
			f.value = nil
		}
		c.unshown(f.value, f.name)
	}
	c.migrate = false
}

// signature compares the declared settings of the SDK signature; what isn't declared is left alone.
func (c *comparison) signature(want *Signature, s state) {
	if want == nil {
		return
	}
	value := func(key string, have, want any) {
		if s.exists && have == nil {
			c.unshown(want, "signature", key)
		} else {
			c.value(have, want, "signature", key)
		}
	}
	if want.Enforce != nil {
		value("enforce_install_signing", s.signature["enforce_install_signing"], *want.Enforce)
	}
	if want.Fingerprints != nil {
		var shown any
		if have, _ := s.signature["android_fingerprints"].([]any); have != nil {
			shown = upper(have)
		}
		value("android_fingerprints", shown, upper(want.Fingerprints))
	}
}

// upper returns fingerprints in upper case and sorted, so that they can be compared.
func upper[V any](list []V) []string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = strings.ToUpper(fmt.Sprint(e))
	}
	slices.Sort(out)
	return out
}

// isDefault tells whether path and value are those of a partner's optional flag with its default,
// which the service shows although nobody sent it.
func isDefault(path []string, have any) bool {
	if len(path) != 3 || path[0] != "channel_setup" {
		return false
	}
	for _, p := range catalog.Partners() {
		for _, s := range p.Setup {
			if p.Slug == path[1] && s.Name == path[2] && s.Type == catalog.SetupFlag && !s.Required {
				return have == s.Default
			}
		}
	}
	return false
}

// orNil returns a text, or nil for the empty one.
func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}
