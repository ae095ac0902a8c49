package console

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config"
	declared "github.com/reportferry/reportferry/config/apps"
	"github.com/reportferry/reportferry/internal/console"
	"github.com/reportferry/reportferry/jobs/apps"
)

// appsOf returns a function that lists the apps that a job's file declares, in the file's order,
// and then those that only the ledger knows. It doesn't follow references to secrets.
func appsOf(s *wire.Session, c config.Job) func(context.Context) ([]console.App, error) {
	return func(ctx context.Context) (list []console.App, err error) {
		entries, err := declared.Load(c.Apps.File)
		if err != nil {
			return nil, err
		}
		known, err := apps.New(apps.Options{Job: c.Name, Table: c.Table, Ledger: s.Ledger}).Known(ctx)
		if err != nil {
			return nil, err
		}
		byID := map[string]apps.Known{}
		for _, k := range known {
			byID[k.App] = k
		}
		for _, d := range entries {
			id := apps.App{Token: d.Token, Platform: d.Platform, StoreID: d.StoreID}.ID()
			k := byID[id]
			delete(byID, id)
			a := appOf(id, k)
			a.Name, a.Fields = d.Name, fieldsOf(d, k.Otherwise)
			list = append(list, a)
		}
		for _, id := range slices.Sorted(maps.Keys(byID)) {
			list = append(list, appOf(id, byID[id]))
		}
		return list, nil
	}
}

// appOf returns what the ledger knows of an app, as the console shows it.
func appOf(id string, k apps.Known) console.App {
	return console.App{ID: id, Condition: console.AppCondition(k.State), Token: k.Token, Ticket: k.Ticket, Run: k.Run,
		At: k.At}
}

// fieldsOf lists the fields that an app declares, under the paths that a plan has for them. It
// hides values that may be credentials or people's addresses.
func fieldsOf(d declared.App, otherwise []string) (list []console.AppField) {
	add := func(path string, v any) {
		text, err := json.Marshal(v)
		if err != nil {
			text = []byte(fmt.Sprint(v))
		}
		list = append(list, console.AppField{Path: path, Declared: string(text),
			Otherwise: slices.ContainsFunc(otherwise, isPartOf(path))})
	}
	for _, f := range []struct{ path, value string }{{"name", d.Name}, {"bundle_id", d.BundleID},
		{"template_app_token", d.Template}} {
		if f.value != "" {
			add(f.path, f.value)
		}
	}
	var each func(path string, v any)
	each = func(path string, v any) {
		m, nested := v.(map[string]any)
		if !nested || len(m) == 0 {
			add(path, v)
			return
		}
		for _, key := range slices.Sorted(maps.Keys(m)) {
			each(path+"."+key, m[key])
		}
	}
	for _, partner := range slices.Sorted(maps.Keys(d.Setup)) {
		each("channel_setup."+partner, apps.Mask(plainValue(d.Setup[partner]), "channel_setup", partner))
	}
	for _, section := range slices.Sorted(maps.Keys(d.Overrides)) {
		each("override_settings."+section, apps.Mask(plainValue(d.Overrides[section]), "override_settings", section))
	}
	for _, kind := range slices.Sorted(maps.Keys(d.Stores)) {
		add("additional_stores."+kind, d.Stores[kind])
	}
	for _, e := range d.Events {
		add("events["+e.Name+"].unique", e.Unique)
	}
	if d.Signature != nil {
		if d.Signature.Enforce != nil {
			add("signature.enforce_install_signing", *d.Signature.Enforce)
		}
		if n := len(d.Signature.Fingerprints); n > 0 {
			add("signature.android_fingerprints", countText(n, "fingerprint"))
		}
	}
	if n := len(d.Editors); n > 0 {
		add("editors", countText(n, "user"))
	}
	if d.IOSSecret != "" {
		add("ios_pv_shared_secret", apps.Secret(d.IOSSecret))
	}
	if d.Verify {
		add("verification", true)
	}
	return list
}

// isPartOf returns a function that tells whether a path is that of the field, or of a part of it.
func isPartOf(field string) func(path string) bool {
	return func(path string) bool {
		rest, below := strings.CutPrefix(path, field)
		return below && (rest == "" || rest[0] == '.' || rest[0] == '[')
	}
}

// countText returns the number of values, to be shown in their place.
func countText(n int, noun string) string { return "(" + text.Plural(n, noun) + ")" }

// plainValue returns a value in JSON's types. It turns references into secrets, which Mask hides.
func plainValue(v any) any {
	switch v := v.(type) {
	case declared.Reference:
		return apps.Secret(v)
	case map[string]any:
		out := map[string]any{}
		for key, e := range v {
			out[key] = plainValue(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plainValue(e)
		}
		return out
	}
	return v
}
