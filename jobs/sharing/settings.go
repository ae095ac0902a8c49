package sharing

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reportferry/reportferry/internal/catalog"
)

// Settings are what one record says of partners: by partner, as the record names it, and by metric,
// whether the metric is shared.
type Settings map[string]map[string]bool

// Names returns the partners as the settings name them, sorted.
func (s Settings) Names() []string {
	names := make([]string, 0, len(s))
	for named := range s {
		names = append(names, named)
	}
	slices.Sort(names)
	return names
}

// ParseSettings reads partner_sharing_settings: an object of objects, or form objects, one or a
// list of them. Its errors hold no text of the settings but names that are the service's own.
// strange says that a partner isn't known here.
func (p Partners) ParseSettings(text string) (s Settings, strange bool, err error) {
	list, forms, err := settingPairs(text)
	if err != nil {
		return nil, false, err
	}
	list, strange, p, err = p.checkNames(list, func(named string) bool { _, known := p.Name(named); return known })
	if err != nil {
		return nil, false, err
	}
	s = Settings{}
	spellings := map[string]string{} // one name -> as named
	for _, x := range list {
		one, _ := p.Name(x.group)
		shown := p.pairPartner(x)
		if before, again := spellings[one]; again && before != x.group {
			return nil, false, fmt.Errorf("names %s twice", shown)
		}
		spellings[one] = x.group
		if !isMetric(x.key) {
			return nil, false, fmt.Errorf("names no metric that is known: number %d of %s", x.inner, shown)
		}
		on, ok := x.value.(bool)
		if word, text := x.value.(string); text && forms {
			on, ok = truth[catalog.Fold(word)]
		}
		if !ok {
			return nil, false, fmt.Errorf("wants true or false for metric %s of %s", x.key, shown)
		}
		if _, again := s[x.group][x.key]; again {
			return nil, false, fmt.Errorf("has metric %s of %s twice", x.key, shown)
		}
		s.set(x.group, x.key, on)
	}
	return s, strange, nil
}

// A setting is one setting of one partner, as a form object of the service's page on third-party
// sharing.
type setting struct {
	Partner string `json:"partnerName"`
	Key     string `json:"key"`
	Value   bool   `json:"value"`
}

// formObjects converts settings in their one spelling to a list of form objects.
func formObjects(settings string) (string, error) {
	s := Settings{}
	if err := json.Unmarshal([]byte(settings), &s); err != nil {
		return "", errors.New("settings of partners aren't as they were checked")
	}
	var list []setting
	for _, partner := range slices.Sorted(maps.Keys(s)) {
		for _, key := range slices.Sorted(maps.Keys(s[partner])) {
			list = append(list, setting{partner, key, s[partner][key]})
		}
	}
	text, err := json.Marshal(list)
	return string(text), err
}

// truth has the words that stand for true and false.
var truth = map[string]bool{"true": true, "false": false}

// checkNames checks and trims the names of the groups in a list, and returns p with the names added
// that it lacks. strange says that known is false for one of them.
func (p Partners) checkNames(list []pair, known func(named string) bool) (trimmed []pair, strange bool, with Partners,
	err error) {
	names := make([]string, len(list))
	for i := range list {
		list[i].group = strings.TrimSpace(list[i].group)
		if why := whyNotPartner(list[i].group); why != "" {
			return nil, false, p, fmt.Errorf("has a partner whose name %s: number %d", why, list[i].outer)
		}
		names[i] = list[i].group
		strange = strange || !known(names[i])
	}
	return list, strange, p.With(names), nil
}

// longestName is how many characters a partner's name may have.
const longestName = 128

// whyNotPartner returns the reason why a partner can't have this name, or "".
func whyNotPartner(named string) string {
	switch {
	case named == "":
		return isMissing
	case utf8.RuneCountInString(named) > longestName:
		return fmt.Sprintf("has %d characters; at most %d", utf8.RuneCountInString(named), longestName)
	}
	return whyNotSent(named)
}

// pairPartner names the partner of a pair, by its number if its name isn't the service's own.
func (p Partners) pairPartner(x pair) string {
	if one, _ := p.Name(x.group); one == all || one == callbacks || slices.Contains(slugs, one) {
		return "partner " + one
	}
	return fmt.Sprintf("partner number %d", x.outer)
}

// set records that a metric is shared with a partner, or isn't.
func (s Settings) set(partner, metric string, on bool) {
	if s[partner] == nil {
		s[partner] = map[string]bool{}
	}
	s[partner][metric] = on
}

// parseOptions reads granular_third_party_sharing_options, and returns their one spelling. strange
// says that a group isn't known here.
func (p Partners) parseOptions(text string) (sent string, strange bool, err error) {
	list, err := readPairs(text)
	if err != nil {
		return "", false, err
	}
	list, strange, p, err = p.checkNames(list, func(named string) bool {
		_, _, known := p.optionGroup(named)
		return known
	})
	if err != nil {
		return "", false, err
	}
	out := map[string]map[string]string{}
	spellings := map[string]string{}
	for _, x := range list {
		one, keys, _ := p.optionGroup(x.group)
		if before, again := spellings[one]; again && before != x.group {
			return "", false, fmt.Errorf("has a group twice: number %d", x.outer)
		}
		spellings[one] = x.group
		if one == all || one == callbacks {
			return "", false, fmt.Errorf("has options of %s, which is no partner: number %d", one, x.outer)
		}
		v, reason := optionText(keys, x)
		if reason != "" {
			return "", false, fmt.Errorf("%s: number %d of group number %d", reason, x.inner, x.outer)
		}
		if out[x.group] == nil {
			out[x.group] = map[string]string{}
		}
		out[x.group][x.key] = v
	}
	return jsonText(out), strange, nil
}

// optionText returns a value as it is sent, which is always a text, or the reason why it can't be.
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
		if why := whyNotSent(x.key + text); why != "" {
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
