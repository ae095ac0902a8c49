package console

import (
	"fmt"
	"strings"
	"testing"

	declared "github.com/reportferry/reportferry/config/apps"
)

// Fields have the paths that a plan has. Secrets aren't shown, whether they stand in the file by
// reference or as a text, and neither are addresses of people.
func TestFieldsOfADeclaration(t *testing.T) {
	yes := true
	var got []string
	for _, f := range fieldsOf(declared.App{
		Name: "Game", StoreID: "1", Platform: "ios", Template: "tpl", Verify: true, IOSSecret: "${PV}",
		Setup: map[string]map[string]any{"facebook": {"app_id": "123"},
			"ironsource": {"password": declared.Reference("${IRON}"), "secret_key": "plain-text"}},
		Overrides: map[string]any{"callbacks": []any{map[string]any{"id": "global",
			"url": "https://u:hidden@in.example.com/"}}},
		Stores: map[string]string{"amazon": "B00"}, Events: []declared.Event{{Name: "buy", Unique: true}},
		Signature: &declared.Signature{Enforce: &yes, Fingerprints: []string{"C4:BD"}},
		Editors:   []string{"artist@example.com"},
	}, []string{"name", "override_settings.callbacks[global].url", "events[buyer].unique"}) {
		line := f.Path + " " + f.Declared
		if f.Otherwise {
			line += " otherwise"
		}
		got = append(got, line)
	}
	all := strings.Join(got, "\n")
	want := `name "Game" otherwise
template_app_token "tpl"
channel_setup.facebook.app_id "123"
channel_setup.ironsource.password "(not shown)"
channel_setup.ironsource.secret_key "(not shown)"
override_settings.callbacks [{"id":"global","url":"https://***@in.example.com/"}] otherwise
additional_stores.amazon "B00"
events[buy].unique true
signature.enforce_install_signing true
signature.android_fingerprints "(1 fingerprint)"
editors "(1 user)"
ios_pv_shared_secret "(not shown)"
verification true`
	if all != want {
		t.Errorf("fields are\n%s", all)
	}
	if shown := fmt.Sprint(got); strings.Contains(shown, "hidden") || strings.Contains(shown, "artist") {
		t.Error("a secret or an address is shown")
	}
}
