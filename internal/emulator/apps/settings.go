package apps

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// view returns what GET /app/{token}/settings shows of a section.
func (a *accountApp) view(name string) any {
	switch name {
	case appInfo:
		stores := map[string]any{defaultStores[a.Platform]: otherStore{a.StoreID}}
		for kind, o := range a.Stores {
			stores[kind] = o
		}
		return map[string]any{"id": a.ID, "name": a.Name, "app_token": a.Token, "bundle_id": a.BundleID,
			"default_platform": a.Platform, "stores": stores}
	case "sdk_secrets":
		object, _ := a.Settings[name].(map[string]any)
		secrets := make([]sdkSecret, 0, len(a.Secrets))
		for _, s := range a.Secrets {
			s.Value = nil // the calls on secrets show it; settings are exported into files
			secrets = append(secrets, s)
		}
		return merged(object, map[string]any{"enforce_install_signing": a.enforcesSigning(), "secrets": secrets})
	}
	return a.Settings[name]
}

// querySections reads the query's list of sections to show.
func (c *call) querySections() ([]string, error) {
	chosen := c.request.URL.Query()["sections"]
	var errs fieldErrors
	for i, name := range chosen {
		if _, ok := findSection(name); !ok && name != appInfo {
			errs.add([]any{"query", "sections", i}, "Unknown section")
		}
	}
	return chosen, errs.err()
}

// sectionsToShow returns the chosen sections that the app's platform has, or all when none was
// chosen.
func (a *accountApp) sectionsToShow(chosen []string) []string {
	all := append([]string{appInfo}, chosenSections(nil, a.Platform)...)
	if len(chosen) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(name string) bool { return !slices.Contains(chosen, name) })
}

// getSettings answers GET /app/{app_token}/settings: an object of sections.
func (c *call) getSettings() (any, error) {
	chosen, err := c.querySections()
	if err != nil {
		return nil, err
	}
	a, err := c.app(c.path[0])
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for _, name := range a.sectionsToShow(chosen) {
		out[name] = a.view(name)
	}
	return out, nil
}

// exportSettings answers GET /settings/csv: a line for every value. A nested value is named by its
// path, in which a list's item is named by its key.
func (c *call) exportSettings() (any, error) {
	chosen, err := c.querySections()
	if err != nil {
		return nil, err
	}
	var apps []*accountApp
	if tokens := c.request.URL.Query()["app_tokens"]; len(tokens) > 0 {
		for _, token := range tokens {
			a, err := c.app(token)
			if err != nil {
				return nil, err
			}
			apps = append(apps, a)
		}
	} else if apps, err = c.apps(false); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	_ = w.Write([]string{"app_token", "app_name", "section", "setting", "value"}) // a buffer takes all
	for _, a := range apps {
		for _, name := range a.sectionsToShow(chosen) {
			text, err := json.Marshal(a.view(name))
			if err != nil {
				return nil, fmt.Errorf("export settings: %w", err)
			}
			var plain any
			if err := decodeKept(string(text), &plain); err != nil {
				return nil, fmt.Errorf("export settings: %w", err)
			}
			key := "id"
			if s, ok := findSection(name); ok && s.key != "" {
				key = s.key
			}
			flatten(plain, key, nil, func(setting, value string) {
				_ = w.Write([]string{a.Token, a.Name, name, setting, value})
			})
		}
	}
	w.Flush()
	return csvAnswer(out.Bytes()), w.Error()
}

// flatten calls line with every plain value below value, and with its path joined by dots. at is
// the path of value, and key the field that names the items of a list.
func flatten(value any, key string, at []string, line func(setting, value string)) {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			flatten(v[name], key, append(at[:len(at):len(at)], name), line)
		}
	case []any:
		items := objectsOf(v)
		if len(v) == 0 && len(at) == 0 {
			return // a section without items has no settings
		}
		if len(items) < len(v) || len(v) == 0 { // a list of plain values is one value
			text, _ := json.Marshal(v) // it was JSON a moment ago
			line(strings.Join(at, "."), string(text))
			return
		}
		for _, item := range items {
			flatten(item, key, append(at[:len(at):len(at)], fmt.Sprint(item[key])), line)
		}
	case nil:
		line(strings.Join(at, "."), "")
	default:
		line(strings.Join(at, "."), fmt.Sprint(v))
	}
}
