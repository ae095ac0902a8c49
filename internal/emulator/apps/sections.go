package apps

import (
	"maps"
	"slices"
)

// section is a part of an app's settings that is copied from the template. Source: the interface
// document's list.
type section struct {
	name     string
	key      string // the field that names an item, if the section is a list; "" if it is an object
	platform string // the only platform whose apps have the section; "": both have it
}

// allSections is the order in which a job takes them: events before partners, whose links name
// events, then trackers, whose names are partners'. app_info isn't among them: it can't be
// migrated.
var allSections = []section{
	{"events", "name", ""},
	{"partners", "name", ""},
	{"trackers", "name", ""},
	{"attribution_privacy_model", "", ios},
	{"attribution_settings", "", ""},
	{"callbacks", "id", ""},
	{"csv_upload_settings", "", ""},
	{"external_data_forwarding", "name", ""},
	{"fraud_prevention_settings", "", ""},
	{"purchase_verification", "", ""},
	{"signature", "", android},
	{"sdk_secrets", "", ""},
	{"skad_network_v4", "", ios},
	{"preview_link_settings", "", ""},
	{"s2s", "", ""},
}

// appInfo is the section of what identifies an app. It can only be read.
const appInfo = "app_info"

// findSection finds a section that can be migrated.
func findSection(name string) (section, bool) {
	i := slices.IndexFunc(allSections, func(s section) bool { return s.name == name })
	if i < 0 {
		return section{}, false
	}
	return allSections[i], true
}

// on reports whether apps of the platform have the section.
func (s section) on(platform string) bool { return s.platform == "" || s.platform == platform }

// readSections reads a list of sections to migrate.
func readSections(f fields) []string {
	names := f.texts("sections")
	for i, name := range names {
		if _, ok := findSection(name); name == appInfo {
			f.errs.add(f.loc("sections", i), "app_info is read-only and can't be migrated")
		} else if !ok && name != "" {
			f.errs.add(f.loc("sections", i), "Unknown section")
		}
	}
	return names
}

// chosenSections returns the chosen sections that the platform has, in a job's order, or all that
// it has when none was chosen.
func chosenSections(chosen []string, platform string) (out []string) {
	for _, s := range allSections {
		if s.on(platform) && (len(chosen) == 0 || slices.Contains(chosen, s.name)) {
			out = append(out, s.name)
		}
	}
	return out
}

// readOverrides reads override_settings, which are saved as they came; nil when there are none.
// Source of the containers: the service's page about overriding settings.
func readOverrides(f fields) map[string]any {
	o := f.object("override_settings")
	for _, name := range slices.Sorted(maps.Keys(o.values)) {
		s, ok := findSection(name)
		switch {
		case name == appInfo:
			o.wrong(name, "app_info is read-only and can't be overridden")
		case !ok:
			o.wrong(name, "Unknown section")
		case s.key == "":
			o.object(name)
		default:
			for i, item := range o.list(name) {
				if f, ok := itemAt(item, o.errs, o.loc(name, i)); ok {
					f.text(s.key)
				}
			}
		}
	}
	return o.values
}

// overridden returns the template's section with the app's overrides in place. An item that the
// template doesn't have is added.
func (s section) overridden(template, override any) any {
	if s.key == "" {
		object, _ := template.(map[string]any)
		own, _ := override.(map[string]any)
		return merged(object, own)
	}
	items, own := objectsOf(template), objectsOf(override)
	out := make([]map[string]any, 0, len(items)+len(own))
	for _, item := range items {
		out = append(out, merged(item, nil))
	}
	for _, item := range own {
		if i := indexOf(out, s.key, item[s.key]); i >= 0 {
			out[i] = merged(out[i], item)
		} else {
			out = append(out, merged(item, nil))
		}
	}
	return out
}

// merged returns base with the values of own put over it, likewise in objects within objects.
// Neither is changed.
func merged(base, own map[string]any) map[string]any {
	out := make(map[string]any, len(base)+len(own))
	for k, v := range base {
		if o, ok := v.(map[string]any); ok {
			v = merged(o, nil)
		}
		out[k] = v
	}
	for k, v := range own {
		if o, ok := v.(map[string]any); ok {
			was, _ := out[k].(map[string]any)
			v = merged(was, o)
		}
		out[k] = v
	}
	return out
}

// objectsOf returns the objects of a list, which has one type when it was just made and another
// when it was read from the database.
func objectsOf(list any) []map[string]any {
	switch l := list.(type) {
	case []map[string]any:
		return l
	case []any:
		out := make([]map[string]any, 0, len(l))
		for _, v := range l {
			if o, ok := v.(map[string]any); ok {
				out = append(out, o)
			}
		}
		return out
	}
	return nil
}

// indexOf returns the index of the first item whose key has this value, or -1.
func indexOf(items []map[string]any, key string, value any) int {
	return slices.IndexFunc(items, func(o map[string]any) bool { return o[key] == value })
}
