package config

import (
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/internal/catalog"
)

func appObject(a *App) object {
	return object{what: "an app", fields: []field{
		required("name", nameText, &a.Name, "Name of the app."),
		required("bundle_id", identifier, &a.BundleID, "Bundle ID."),
		required("store_id", identifier, &a.StoreID, "ID in the default store: the package of an Android app, the number of an iOS app. With platform it says which app is meant."),
		required("platform", oneOf("android", "ios"), &a.Platform, "Platform."),
		optional("template_app_token", appToken, &a.Template, "App to copy settings from, instead of the account's template."),
		optional("sections", textsOf(oneOf(sectionNames(nil)...)), &a.Sections, "Sections of settings to copy from the template; all by default."),
		optional("channel_setup", channelSetup, &a.Setup, "Parameters of partners, complete: the service merges nothing. Without this key they stay as they are; {} clears them."),
		optional("override_settings", overrides, &a.Overrides, "Settings of this app in place of the template's, by section; complete. Without this key they stay as they are; {} clears them."),
		optional("additional_stores", additionalStores, &a.Stores, "IDs in other Android stores, by store type, such as amazon."),
		optional("events", appEvents, &a.Events, "Events that the app must have. Others are left alone."),
		optional("signature", signature, &a.Signature, "SDK signature settings of an Android app."),
		optional("editors", textsOf(email), &a.Editors, "E-mail addresses of users of custom roles who may edit the app."),
		optional("ios_pv_shared_secret", secretReference, &a.IOSSecret, "Where the shared secret of iOS purchase verification is."),
		optional("verification", boolean, &a.Verify, "Ask for the verification of an iOS app."),
	}, check: func(d *decoder, n ast.Node, at map[string]ast.Node) { d.checkApp(a, at) }}
}

// checkApp makes the checks that depend on the platform.
func (d *decoder) checkApp(a *App, at map[string]ast.Node) {
	only := func(platform string, keys ...string) {
		for _, key := range keys {
			if at[key] != nil {
				d.fail(at[key], "%s is for %s apps only", key, platform)
			}
		}
	}
	switch a.Platform {
	case "android":
		only("ios", "ios_pv_shared_secret", "verification")
		if items, ok := d.resolve(at["sections"]).(*ast.SequenceNode); ok {
			for _, item := range items.Values {
				if s, _ := d.textOf(item); s != "" && isIOSSection(s) {
					d.fail(item, "sections: %s is for ios apps only", s)
				}
			}
		}
	case "ios":
		only("android", "additional_stores", "signature")
		if a.StoreID != "" && !allDigits.MatchString(a.StoreID) {
			d.fail(at["store_id"], "store_id: %q is no number; that of an ios app is one, such as 1234567890", clip(a.StoreID))
		}
	}
	for section := range a.Overrides {
		if a.Platform == "android" && isIOSSection(section) {
			d.fail(at["override_settings"], "override_settings: %s is for ios apps only", section)
		}
	}
}

func isIOSSection(name string) bool {
	for _, s := range catalog.Sections() {
		if s.Name == name {
			return s.IOS
		}
	}
	return false
}

func sectionNames(more []string) []string {
	for _, s := range catalog.Sections() {
		more = append(more, s.Name)
	}
	return more
}

var (
	controlCharacter = expr(`\p{Cc}`)
	allDigits        = expr(`^[0-9]+$`)
)

// clip bounds what a message repeats.
func clip(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}

// clean is s without control characters, which would end a line or a header, and no longer than most bytes. Messages
// don't repeat it.
func clean(s shape[string], most int) shape[string] {
	return checked(s, func(d *decoder, n ast.Node, key, text string) bool {
		switch {
		case controlCharacter.MatchString(text):
			d.fail(n, "%s holds a control character, such as the end of a line", key)
		case strings.HasPrefix(text, "${"):
			d.fail(n, "%s: a reference isn't taken here; write the value itself", key)
		case strings.TrimSpace(text) != text:
			d.fail(n, "%s begins or ends with a blank", key)
		case len(text) > most:
			d.fail(n, "%s has %d bytes; the most is %d", key, len(text), most)
		default:
			return true
		}
		return false
	})
}

var (
	line       = clean(text, 4096)
	nameText   = clean(word, 255)
	identifier = checked(clean(word, 255), func(d *decoder, n ast.Node, key, s string) bool {
		if strings.ContainsAny(s, " \t/?#&") {
			d.fail(n, "%s: %q has a character that no ID has", key, clip(s))
			return false
		}
		return true
	})
	appToken = checked(clean(word, 64), func(d *decoder, n ast.Node, key, s string) bool {
		if !isAppToken.MatchString(s) {
			d.fail(n, "%s: %q is no app token", key, clip(s))
		}
		return isAppToken.MatchString(s)
	})
	isAppToken = expr(`^[a-z0-9]+$`)
	email      = checked(clean(text, 254), func(d *decoder, n ast.Node, key, s string) bool {
		if !isEmail.MatchString(s) {
			d.fail(n, "%s: %q is no e-mail address", key, clip(s))
		}
		return isEmail.MatchString(s)
	})
	isEmail     = expr(`^[^@\s]+@[^@\s]+\.[^@\s]+$`)
	fingerprint = checked(clean(text, 255), func(d *decoder, n ast.Node, key, s string) bool {
		if !isFingerprint.MatchString(s) {
			d.fail(n, "%s: %q is no SHA-1 fingerprint; want 20 bytes as hex digits with colons between, such as C4:BD:07:...", key, clip(s))
		}
		return isFingerprint.MatchString(s)
	})
	isFingerprint = expr(`^([0-9A-Fa-f]{2}:){19}[0-9A-Fa-f]{2}$`)
)

func appEventObject(e *AppEvent) object {
	return object{what: "an event", fields: []field{
		required("name", nameText, &e.Name, "Name of the event, which says which one of the app's is meant."),
		optional("unique", boolean, &e.Unique, "Count it once a user."),
	}}
}

func signatureObject(s *AppSignature) object {
	var enforce bool
	f := optional("enforce_install_signing", boolean, &enforce, "Reject installs without a good signature.")
	read := f.read
	f.read = func(d *decoder, n ast.Node) {
		read(d, n)
		s.Enforce = &enforce
	}
	return object{what: "signature", fields: []field{
		f, optional("android_fingerprints", textsOf(fingerprint), &s.Fingerprints, "SHA-1 fingerprints of the certificates that sign the app."),
	}}
}

var signature = shape[*AppSignature]{
	func(d *decoder, n ast.Node, _ string) (*AppSignature, bool) {
		s := &AppSignature{}
		return s, d.object(n, signatureObject(s)) != nil
	},
	func() *jsonschema.Schema { return signatureObject(new(AppSignature)).schema() },
}

// appEvents is a list of events, no two of the same name.
var appEvents = shape[[]AppEvent]{
	func(d *decoder, n ast.Node, key string) ([]AppEvent, bool) {
		var all []AppEvent
		lines := map[string]int{}
		for _, element := range d.elements(n, key) {
			var e AppEvent
			at := d.object(element, appEventObject(&e))
			if before := lines[e.Name]; before > 0 && e.Name != "" {
				d.fail(at["name"], "%s: %q already stands on line %d", key, clip(e.Name), before)
			}
			if p := position(element); p != nil {
				lines[e.Name] = p.Line
			}
			all = append(all, e)
		}
		return all, len(all) > 0
	},
	func() *jsonschema.Schema { return arrayOf(appEventObject(new(AppEvent)).schema()) },
}
