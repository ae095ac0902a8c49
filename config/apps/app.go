package apps

import (
	"slices"

	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/config/strict"
	"github.com/reportferry/reportferry/internal/catalog"
)

// appObject describes one app. A field of a that stays nil wasn't declared, and is left as it is in
// the service.
func appObject(a *App) strict.Object {
	var sections []strict.Item
	return strict.Object{What: "an app", Fields: []strict.Field{
		strict.Optional("token", appToken, &a.Token, "abc123def456",
			"Token of an app that is in the account already, in place of store_id and platform where the store "+
				"isn't known. Then name and bundle_id may be left out, and stay as they are. No app is made by its "+
				"token: one that the account lacks is an error."),
		strict.Optional("name", name, &a.Name, "Puzzle Quest", "Name of the app. Required without token."),
		strict.Optional("bundle_id", identifier, &a.BundleID, "com.example.puzzle",
			"Bundle ID of the app. Required without token."),
		strict.Optional("store_id", identifier, &a.StoreID, "com.example.puzzle",
			"ID in the default store: the package of an Android app, the number of an iOS app. With the platform it "+
				"says which app is meant. Required without token."),
		strict.Optional("platform", strict.OneOf("android", "ios"), &a.Platform, "android",
			"Platform of the app. Required without token."),
		strict.Optional("template_app_token", appToken, &a.Template, "abc123def456",
			"App whose settings are copied, instead of the account's template."),
		strict.Optional("sections", strict.Items(strict.OneOf(sectionNames()...)), &sections, "[events, partners]",
			"Sections of settings that are copied from the template. Without the key, all of them are."),
		strict.Optional("channel_setup", channelSetup, &a.Setup, "",
			"Parameters of partners. They replace all that the service has. Without the key the service's stay as "+
				"they are, wherever it shows them; {} clears them."),
		strict.Optional("override_settings", overrides, &a.Overrides, "",
			"Settings of this app in place of the template's, by section. They replace all that the service has. "+
				"Without the key the service's stay as they are; {} clears them."),
		strict.Optional("additional_stores", additionalStores, &a.Stores, "{amazon: B00EXAMPLE}",
			"IDs in other Android stores, by store type."),
		strict.Optional("events", events(), &a.Events, "[{name: purchase, unique: false}]",
			"Events that the app must have. Its other events are left alone."),
		strict.Optional("signature", signature, &a.Signature, "", "SDK signature settings of an Android app."),
		strict.Optional("editors", strict.TextsOf(email), &a.Editors, "[ana@example.com]",
			"E-mail addresses of users of custom roles who may edit the app."),
		strict.Optional("ios_pv_shared_secret", secret, &a.IOSSecret, "${PV_SECRET}",
			"Where the shared secret of iOS purchase verification is kept, never the secret itself."),
		strict.Optional("verification", strict.Bool, &a.Verify, "true",
			"Whether the verification of an iOS app is asked for."),
	}, Check: func(d *strict.Decoder, n strict.Node, at map[string]strict.Node) {
		checkIdentity(d, n, at)
		if sections != nil {
			a.Sections = strict.Texts(sections)
		}
		checkPlatform(d, a, sections, at)
	}}
}

// identity holds the keys that an app without a token must have.
var identity = []string{"name", "bundle_id", "store_id", "platform"}

// checkIdentity refuses an app unless it is named either by its token or by the keys of identity.
func checkIdentity(d *strict.Decoder, n strict.Node, at map[string]strict.Node) {
	for _, key := range []string{"store_id", "platform"} {
		if at["token"] != nil && at[key] != nil {
			d.Fail(at[key], "%s: an app is named by its token or by its store, not by both", key)
		}
	}
	for _, key := range identity {
		if at["token"] == nil && at[key] == nil {
			d.Fail(n, "an app: required key %q is missing", key)
		}
	}
}

// checkPlatform refuses what the app's platform doesn't have.
func checkPlatform(d *strict.Decoder, a *App, sections []strict.Item, at map[string]strict.Node) {
	only := func(platform string, keys ...string) {
		for _, key := range keys {
			if at[key] != nil {
				d.Fail(at[key], "%s is for %s apps only", key, platform)
			}
		}
	}
	switch a.Platform {
	case "android":
		only("ios", "ios_pv_shared_secret", "verification")
		for _, s := range sections {
			if isIOSSection(s.Text) {
				d.Fail(s.Node, "sections: %s is for ios apps only", s.Text)
			}
		}
		for section := range a.Overrides {
			if isIOSSection(section) {
				d.Fail(at["override_settings"], "override_settings: %s is for ios apps only", section)
			}
		}
	case "ios":
		only("android", "additional_stores", "signature")
		if a.StoreID != "" && !allDigits.MatchString(a.StoreID) {
			d.Fail(at["store_id"], "store_id: want the number of an ios app such as 1234567890, got %q",
				clip(a.StoreID))
		}
	}
}

// isIOSSection tells whether only iOS apps have a section of settings.
func isIOSSection(name string) bool {
	return slices.ContainsFunc(catalog.Sections(), func(s catalog.Section) bool { return s.Name == name && s.IOS })
}

// sectionNames returns the names of all sections of settings.
func sectionNames() (names []string) {
	for _, s := range catalog.Sections() {
		names = append(names, s.Name)
	}
	return names
}

// events returns the shape of a list of events, no two of the same name.
func events() strict.Shape[[]Event] {
	lines := map[string]int{}
	return strict.ListOf(func(e *Event) strict.Object {
		return strict.Object{What: "an event", Fields: []strict.Field{
			strict.Required("name", name, &e.Name, "purchase",
				"Name of the event, which says which one of the app's events is meant."),
			strict.Optional("unique", strict.Bool, &e.Unique, "true", "Whether the event is counted once a user."),
		}}
	}, func(d *strict.Decoder, n strict.Node, at map[string]strict.Node, e *Event) {
		if before := lines[e.Name]; before > 0 && e.Name != "" {
			d.Fail(at["name"], "events: %q already stands on line %d", clip(e.Name), before)
		}
		lines[e.Name] = strict.Line(n)
	})
}

// signature reads into a pointer, because an empty declaration differs from none.
var signature = strict.As(strict.ObjectOf(signatureObject), func(_ *strict.Decoder, _ strict.Node, _ string,
	s Signature) (*Signature, bool) {
	return &s, true
})

// signatureObject describes the signature settings. It sets Enforce only when the key is there, so
// that false differs from a missing key.
func signatureObject(s *Signature) strict.Object {
	var enforce bool
	return strict.Object{What: "signature", Fields: []strict.Field{
		strict.Optional("enforce_install_signing", strict.Bool, &enforce, "true",
			"Whether installs without a good signature are rejected."),
		strict.Optional("android_fingerprints", strict.TextsOf(fingerprint), &s.Fingerprints, "",
			"SHA-1 fingerprints of the certificates that sign the app."),
	}, Check: func(_ *strict.Decoder, _ strict.Node, at map[string]strict.Node) {
		if at["enforce_install_signing"] != nil {
			s.Enforce = &enforce
		}
	}}
}

// The shapes of single values, and the expressions that they need. The length of each is in bytes.
var (
	allDigits        = strict.Expr(`^[0-9]+$`)
	controlCharacter = strict.Expr(`\p{Cc}`)

	line       = plain(strict.Text, 4096)
	name       = plain(strict.Word, 255)
	identifier = form(plain(strict.Word, 255), strict.Expr(`^[^ \t/?#&]*$`),
		"an ID, which has no blank and none of / ? # &")
	appToken = form(plain(strict.Word, 64), strict.Expr(`^[a-z0-9]+$`), "an app token of small letters and digits")
	email    = form(plain(strict.Text, 254), strict.Expr(`^[^@\s]+@[^@\s]+\.[^@\s]+$`), "an e-mail address")

	fingerprint = form(plain(strict.Text, 255), strict.Expr(`^([0-9A-Fa-f]{2}:){19}[0-9A-Fa-f]{2}$`),
		"a SHA-1 fingerprint of 20 bytes in hex with colons between")
)

// plain restricts s to one line of at most so many bytes. It refuses a reference, because that
// would be taken for the value itself.
func plain(s strict.Shape[string], most int) strict.Shape[string] {
	return strict.Checked(strict.OneLine(s, most), func(d *strict.Decoder, n strict.Node, key, text string) bool {
		reference := len(text) > 1 && text[:2] == "${"
		if reference {
			d.Fail(n, "%s can't be a reference; write the value itself", key)
		}
		return !reference
	})
}

// form restricts s to texts that match an expression. Error messages describe the form as want
// says, and repeat the beginning of the wrong text.
func form(s strict.Shape[string], expression strict.Expression, want string) strict.Shape[string] {
	return strict.Checked(s, func(d *strict.Decoder, n strict.Node, key, text string) bool {
		ok := expression.MatchString(text)
		if !ok {
			d.Fail(n, "%s: want %s, got %q", key, want, clip(text))
		}
		return ok
	})
}

// clip shortens a text that an error message repeats.
func clip(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}

var storeType = strict.Expr(`^[a-z][a-z0-9_-]{0,63}$`)

// additionalStores maps store types to IDs.
var additionalStores = strict.MapOf(func(d *strict.Decoder, e strict.Entry, key string) (string, bool) {
	switch {
	case e.Key == "google_play":
		d.Fail(e.KeyNode, "%s: google_play is the default store, whose ID is store_id", key)
	case !storeType.MatchString(e.Key):
		d.Fail(e.KeyNode, "%s: want a store type such as amazon, got %q", key, clip(e.Key))
	default:
		return identifier.Read(d, e.Value, e.Key)
	}
	return "", false
}, func() *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: "object", AdditionalProperties: identifier.Schema(),
		PropertyNames: &jsonschema.Schema{Pattern: storeType.String()},
	}
})
