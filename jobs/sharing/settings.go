package sharing

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Settings are what one record says of partners: partner, metric, whether it is shared.
type Settings map[string]map[string]bool

// ParseSettings reads partner_sharing_settings. Its errors hold no text of the settings but names that are the service's
// own.
func (p Partners) ParseSettings(text string) (Settings, error) {
	list, err := pairs(text)
	if err != nil {
		return nil, err
	}
	s := Settings{}
	named := map[string]int{}
	for _, x := range list {
		name := p.known[x.group]
		switch {
		case name == "":
			return nil, fmt.Errorf("names no partner that is known: number %d; is it missing under partners?", x.outer)
		case named[name] != 0 && named[name] != x.outer:
			return nil, fmt.Errorf("names partner %s twice", name)
		case !isMetric(x.key):
			return nil, fmt.Errorf("names no metric that is known: number %d of partner %s", x.inner, name)
		}
		on, ok := x.value.(bool)
		if !ok {
			return nil, fmt.Errorf("wants true or false for metric %s of partner %s", x.key, name)
		}
		named[name] = x.outer
		s.set(x.group, x.key, on)
	}
	return s, nil
}

func (s Settings) set(partner, metric string, on bool) {
	if s[partner] == nil {
		s[partner] = map[string]bool{}
	}
	s[partner][metric] = on
}

// parseOptions reads granular_third_party_sharing_options, and gives their one spelling.
func (p Partners) parseOptions(text string) (string, error) {
	list, err := pairs(text)
	if err != nil {
		return "", err
	}
	out := map[string]map[string]string{}
	for _, x := range list {
		keys, known := p.optionGroup(x.group)
		if !known {
			return "", fmt.Errorf("names no group of options that is known: number %d", x.outer)
		}
		v, reason := optionText(keys, x)
		if reason != "" {
			return "", fmt.Errorf("%s: number %d of group number %d", reason, x.inner, x.outer)
		}
		if out[x.group] == nil {
			out[x.group] = map[string]string{}
		}
		out[x.group][x.key] = v
	}
	return jsonText(out), nil
}

// optionText is a value as it is sent, a text always, or why it can't be.
func optionText(keys map[string][]string, x pair) (text, reason string) {
	switch v := x.value.(type) {
	case string:
		text = v
	case json.Number:
		text = v.String()
	case bool:
		text = map[bool]string{false: "0", true: "1"}[v]
	}
	if keys == nil {
		if why := printable(x.key + text); why != "" {
			return "", "has an option that " + why
		}
		return text, ""
	}
	allowed := keys[x.key]
	if allowed == nil {
		return "", "names no option that is known"
	}
	if !slices.Contains(allowed, text) {
		return "", "has an option that is none of " + fmt.Sprint(allowed)
	}
	return text, ""
}
