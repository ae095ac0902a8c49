package sharing

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// option is a granular option of a device.
type option struct{ group, key, value string }

// byGroupAndKey orders options.
func byGroupAndKey(a, b option) int {
	return cmp.Or(strings.Compare(a.group, b.group), strings.Compare(a.key, b.key))
}

// optionGroups has the groups whose keys are documented, with the values that each key takes;
// "partner_dma" is the document's word for google_dma. Sources: the interface document, and the
// service's pages on its SDKs' privacy features.
var optionGroups = map[string]map[string][]string{
	"google_dma": {"eea": {"0", "1"}, "ad_personalization": {"0", "1"}, "ad_user_data": {"0", "1"}, "npa": {"0", "1"}},
	"facebook":   {facebookCountry: {"0", "1"}, facebookState: {"0", "1000", "1001", "1002"}},
}

const (
	facebookCountry = "data_processing_options_country"
	facebookState   = "data_processing_options_state"
)

// readOptions reads granular_third_party_sharing_options; what is invalid goes to bad, the rest is
// returned, sorted.
func (p *partnerNames) readOptions(o objectParam, bad *issues) []option {
	var out []option
	for _, raw := range o.texts {
		groups, ok := jsonParts(raw, '{')
		if !ok {
			bad.add("Invalid " + optionsName)
			continue
		}
		for _, g := range groups {
			keys, ok := jsonParts(g.value, '{')
			if !ok {
				bad.add("Invalid options of group", g.name)
				continue
			}
			for _, k := range keys {
				out = p.addOption(out, g.name, k.name, optionText(k.value), bad)
			}
		}
	}
	for _, piece := range o.pieces {
		if len(piece.path) != 2 {
			bad.add("Invalid " + optionsName)
			continue
		}
		text := piece.value
		out = p.addOption(out, piece.path[0], piece.path[1], optionValue{text: &text}, bad)
	}
	return mergedOptions(nil, out)
}

// optionValue is a text or, for any other JSON value, its literal.
type optionValue struct {
	text    *string
	literal string
}

// optionText reads an option's value from JSON.
func optionText(raw json.RawMessage) optionValue {
	if text, isText := textOf(raw); isText {
		return optionValue{text: &text}
	}
	return optionValue{literal: string(raw)}
}

// addOption appends an option if it is valid, and otherwise adds an issue to bad.
func (p *partnerNames) addOption(out []option, group, key string, v optionValue, bad *issues) []option {
	name, known := p.optionGroup(group)
	if !known {
		bad.add("Unknown option group", group)
		return out
	}
	values, documented := optionGroups[name]
	if !documented { // free pairs of texts
		if v.text == nil || key == "" || !clean(key) || !clean(*v.text) {
			bad.add("Invalid option", group, key)
			return out
		}
		return append(out, option{name, key, *v.text})
	}
	value := v.literal
	if v.text != nil {
		value = *v.text
	} else if name == "google_dma" && (value == "true" || value == "false") {
		value = map[string]string{"true": "1", "false": "0"}[value]
	}
	switch {
	case values[key] == nil:
		bad.add("Unknown option", group, key)
	case !slices.Contains(values[key], value):
		bad.add("Invalid option", group, key)
	default:
		return append(out, option{name, key, value})
	}
	return out
}

// optionGroup returns the name under which a group is kept.
func (p *partnerNames) optionGroup(name string) (string, bool) {
	switch name {
	case "partner_dma", "google_dma":
		return "google_dma", true
	case "apple_ads":
		return name, true
	}
	i, known := p.byNameOrID(name) // the document names groups like partners, whatever words settings take
	if !known || p.names[i] == "all" || p.names[i] == "dynamic_callbacks" {
		return "", false
	}
	return p.names[i], true
}

// mergedOptions returns the old options and the new ones, sorted. An option replaces earlier ones
// with the same group and key.
func mergedOptions(old, added []option) []option {
	if len(added) == 0 {
		return old
	}
	all := append(old, added...)
	slices.SortStableFunc(all, byGroupAndKey)
	out := all[:0]
	for i, o := range all {
		if i+1 == len(all) || byGroupAndKey(o, all[i+1]) != 0 {
			out = append(out, o)
		}
	}
	return out
}

// optionsByGroup returns the options by group and key. If one of Facebook's two is 0, both become
// 0.
func optionsByGroup(options []option) map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, o := range options {
		if out[o.group] == nil {
			out[o.group] = map[string]string{}
		}
		out[o.group][o.key] = o.value
	}
	if f := out["facebook"]; f[facebookCountry] == "0" || f[facebookState] == "0" {
		for key := range f {
			f[key] = "0"
		}
	}
	return out
}
