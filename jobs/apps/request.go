package apps

import (
	"encoding/json"
	"strings"

	"github.com/reportferry/reportferry/internal/adjust"
)

// request returns the body of POST /app, without force_update.
func (a App) request() adjust.App {
	r := adjust.App{
		Name: a.Name, BundleID: a.BundleID, StoreID: a.StoreID, Platform: a.Platform, TemplateAppToken: a.Template,
		Sections: a.Sections, Editors: a.Editors, IOSPVSharedSecret: string(a.IOSSecret), Verification: a.Verify,
		OverrideSettings: plainMap(a.Overrides),
	}
	if a.Setup != nil {
		r.ChannelSetup = map[string]map[string]any{}
		for partner, parameters := range a.Setup {
			r.ChannelSetup[partner] = plainMap(parameters)
		}
	}
	for kind, id := range a.Stores {
		if r.AdditionalStores == nil {
			r.AdditionalStores = map[string]adjust.Store{}
		}
		r.AdditionalStores[kind] = adjust.Store{StoreID: id}
	}
	return r
}

// sum returns a checksum of all that is declared.
func (a App) sum(salt string) string {
	c := &comparison{salt: salt}
	return c.sum(a.declared())
}

// declared returns all that is declared, for a checksum.
func (a App) declared() map[string]any {
	all := map[string]any{
		"name": a.Name, "bundle_id": a.BundleID, "store_id": a.StoreID, "platform": a.Platform, "template": a.Template,
		"sections": a.Sections,
		"setup":    anyMap(a.Setup), "has_setup": a.Setup != nil, "overrides": a.Overrides, "stores": a.Stores,
		"events": a.Events, "signature": a.Signature,
		"editors": a.Editors, "ios": a.IOSSecret, "verify": a.Verify,
	}
	if a.Token != "" { // otherwise left out, so that recorded sums of other apps stay valid
		all["token"] = a.Token
	}
	return all
}

// scrub removes the app's secrets, as they are and as JSON writes them, from a text of the service.
func (a App) scrub(text string) string {
	for _, secret := range secrets([]any{anyMap(a.Setup), a.Overrides, a.IOSSecret}) {
		quoted, _ := json.Marshal(secret) // a text can be quoted
		for _, form := range []string{secret, strings.Trim(string(quoted), `"`)} {
			if len(form) >= 4 {
				text = strings.ReplaceAll(text, form, "(secret)")
			}
		}
	}
	return text
}
