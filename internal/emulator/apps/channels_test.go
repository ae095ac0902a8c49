package apps_test

import (
	"fmt"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator/apps"
	"github.com/reportferry/reportferry/internal/slow"
)

// partnersOfDocument is the interface document's table of channel setup, in its order, with the
// real slugs.
var partnersOfDocument = []struct {
	slug     string
	complete object
	required []string
	wrong    map[string]any // of each parameter, a value of another type
	defaults object
}{
	{"applovin", object{"sdk_keys": []any{"k1", "k2"}}, []string{"sdk_keys"}, object{"sdk_keys": "k1"}, nil},
	{"chartboost", object{"app_id": "a", "token": "t"}, []string{"app_id", "token"}, object{"app_id": 1, "token": true},
		nil},
	{"facebook", object{"app_id": "a", "adimpression_forwarding": true}, []string{"app_id"},
		object{"app_id": 1, "adimpression_forwarding": "true"}, object{"adimpression_forwarding": false}},
	{"gameanalytics", object{"key": "k"}, []string{"key"}, object{"key": []any{}}, nil},
	{"google", object{"link_id": "l"}, []string{"link_id"}, object{"link_id": 1}, nil},
	{"inmobi", object{"property_id": "p", "advertiser_id": "a"}, []string{"property_id", "advertiser_id"},
		object{"property_id": 1, "advertiser_id": 2}, nil},
	{"ironsource", object{"advertiser_id": "a", "password": "w"}, []string{"advertiser_id", "password"},
		object{"advertiser_id": 1, "password": 2}, nil},
	{"mintegral", object{"enabled": true}, []string{"enabled"}, object{"enabled": "true"}, nil},
	{"snapchat", object{"snap_app_id": "s"}, []string{"snap_app_id"}, object{"snap_app_id": 1}, nil},
	{"tapjoy", object{"app_id": "a"}, []string{"app_id"}, object{"app_id": object{}}, nil},
	{"tiktok", object{"app_id": "a", "enabled": false}, []string{"app_id"}, object{"app_id": 1, "enabled": 1},
		object{"enabled": true}},
	{"unityads", object{"game_id": "g"}, []string{"game_id"}, object{"game_id": 1}, nil},
	{"vungle", object{"app_id": "a"}, []string{"app_id"}, object{"app_id": 1}, nil},
}

func without(o object, name string) object {
	out := apps.Merged(o, nil)
	delete(out, name)
	return out
}

func TestChannelSetupOfEveryPartner(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := atOnce(t)
	kinds := map[string]string{"sdk_keys": "list", "adimpression_forwarding": "boolean", "enabled": "boolean"}
	for i, p := range partnersOfDocument {
		for _, name := range []string{p.slug, fmt.Sprintf("partner_%d", i+1)} {
			refused := func(what string, values any, want string) {
				t.Helper()
				w := send(t, s, "POST", "app", garden("channel_setup", object{name: values}))
				if got := refusal(t, w); got != "422 validation_error body.channel_setup."+name+want {
					t.Errorf("%s %s: %s, want %s", name, what, got, want)
				}
			}
			for _, param := range p.required {
				refused("without "+param, without(p.complete, param), "."+param+": Field required")
				refused("null "+param, apps.Merged(p.complete, object{param: nil}), "."+param+": Field required")
			}
			for param, value := range p.wrong {
				kind := kinds[param]
				if kind == "" {
					kind = "string"
				}
				refused("wrong "+param, apps.Merged(p.complete, object{param: value}),
					"."+param+": Input should be a valid "+kind)
			}
			if text := p.required[0]; kinds[text] == "" {
				refused("empty "+text, apps.Merged(p.complete, object{text: ""}),
					"."+text+": String should have at least 1 character")
				refused("header in "+text, apps.Merged(p.complete, object{text: "x\r\nAuthorization: y"}),
					"."+text+": String should not contain control characters")
			}
			refused("a list", []any{}, ": Input should be a valid dictionary")
			refused("null", nil, ": Input should be a valid dictionary")

			// Complete, with a parameter more than there is: read back as sent, in the settings
			// under the slug.
			app := create(t, s, garden("store_id", "com."+name, "channel_setup",
				object{name: apps.Merged(p.complete, object{"note": "x"})}))
			details := callOK[apps.AppDetails](t, s, "GET", "app/"+app.Token, nil)
			if got, want := asJSON(t, details.Channels), asJSON(t, object{name: p.complete}); got != want {
				t.Errorf("%s: kept %s, want %s", name, got, want)
			}
			set := settingsOf(t, s, app.Token)
			for _, other := range partnersOfDocument {
				want := "{}"
				if other.slug == p.slug {
					want = asJSON(t, p.complete)
				}
				if got := asJSON(t, item(t, set, "partners", other.slug)["channel_setup"]); got != want {
					t.Errorf("%s: partner %s has %s, want %s", name, other.slug, got, want)
				}
			}
			// With what is required alone: defaults in the settings, none in what was sent.
			least := apps.Merged(p.complete, nil)
			for param := range p.defaults {
				delete(least, param)
			}
			app = create(t, s, garden("store_id", "com.least."+name, "channel_setup", object{name: least}))
			if got := callOK[apps.AppDetails](t, s, "GET", "app/"+app.Token, nil).Channels; asJSON(t, got) != asJSON(t,
				object{name: least}) {
				t.Errorf("%s: least kept as %v", name, got)
			}
			got := item(t, settingsOf(t, s, app.Token), "partners", p.slug)["channel_setup"]
			if want := asJSON(t, apps.Merged(least, p.defaults)); asJSON(t, got) != want {
				t.Errorf("%s: %v, want %s", name, got, want)
			}
		}
	}
	for name, want := range map[string]string{"partner_0": "", "partner_14": "", "partner_01": "", "Facebook": "",
		"all": "", "x\r\ny": ""} {
		got := refusal(t, send(t, s, "POST", "app", garden("channel_setup", object{name: object{"app_id": "x"}})))
		if got != "422 validation_error body.channel_setup."+name+": Unknown partner"+want {
			t.Errorf("%q: %s", name, got)
		}
	}
	got := refusal(t, send(t, s, "POST", "app", garden("channel_setup",
		object{"partner_3": object{"app_id": "x"}, "facebook": object{"app_id": "y"}})))
	if got != "422 validation_error body.channel_setup.partner_3: The partner is there under its other name too" {
		t.Error(got)
	}
	got = refusal(t, send(t, s, "POST", "app", garden("channel_setup",
		object{"applovin": object{"sdk_keys": []any{}}})))
	if got != "422 validation_error body.channel_setup.applovin.sdk_keys: List should have at least 1 item" {
		t.Error(got)
	}
	got = refusal(t, send(t, s, "POST", "app", garden("channel_setup",
		object{"applovin": object{"sdk_keys": []any{"k", 1}}})))
	if got != "422 validation_error body.channel_setup.applovin.sdk_keys.1: Input should be a valid string" {
		t.Error(got)
	}
}

// Values of earlier requests are never merged: what a request leaves out is gone. Another name is
// no change.
func TestChannelSetupIsNeverMerged(t *testing.T) {
	t.Parallel()
	s := atOnce(t)
	tapjoy, vungle := object{"app_id": "1"}, object{"app_id": "2"}
	first := create(t, s, garden("channel_setup", object{"tapjoy": tapjoy}))
	after := func(ticket string, body object, want object) string {
		t.Helper()
		app := create(t, s, body)
		details := callOK[apps.AppDetails](t, s, "GET", "app/"+app.Token, nil)
		if asJSON(t, details.Channels) != asJSON(t, want) {
			t.Errorf("after %v: %v", body["channel_setup"], details.Channels)
		}
		if changed := app.Ticket != ticket; changed != (ticket != "same") && ticket != "same" {
			t.Errorf("after %v: the ticket didn't change", body["channel_setup"])
		}
		partners := settingsOf(t, s, app.Token)
		for _, slug := range []string{"tapjoy", "vungle"} {
			own := want[slug]
			if own == nil && slug == "tapjoy" {
				own = want["partner_10"]
			}
			if own == nil {
				own = object{}
			}
			if got := item(t, partners, "partners", slug)["channel_setup"]; asJSON(t, got) != asJSON(t, own) {
				t.Errorf("after %v: %s has %v, want %v", body["channel_setup"], slug, got, own)
			}
		}
		return app.Ticket
	}
	second := after(first.Ticket, garden("channel_setup", object{"vungle": vungle}), object{"vungle": vungle})
	third := after(second, garden("channel_setup", object{"vungle": vungle, "tapjoy": tapjoy}),
		object{"vungle": vungle, "tapjoy": tapjoy})
	if got := after("same", garden("channel_setup", object{"vungle": vungle, "partner_10": tapjoy}),
		object{"vungle": vungle, "partner_10": tapjoy}); got != third {
		t.Error("another name of the same partner queued a job")
	}
	fourth := after(third, garden("force_update", true, "channel_setup", object{"tapjoy": object{"app_id": "9"}}),
		object{"tapjoy": object{"app_id": "9"}})
	fifth := after(fourth, garden(), object{})
	if got := after("same", garden(), object{}); got != fifth {
		t.Error("the same request queued a job")
	}
}
