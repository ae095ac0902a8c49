package sharing

import (
	"fmt"
	"slices"
)

// A State is what a device's records have said so far.
type State struct {
	partners Partners
	disabled bool     // sharing is disable
	settings Settings // by the one name of each partner
}

// NewState returns the state of a device before anything was said about it.
func (p Partners) NewState() *State { return &State{partners: p, settings: Settings{}} }

// Apply adds what the next record says. choice may be empty.
func (s *State) Apply(choice string, next Settings) {
	if choice != "" {
		s.disabled = choice == "disable"
	}
	for named, metrics := range next {
		partner, _ := s.partners.Name(named)
		for metric := range metrics { // a setting of a group replaces earlier settings of the metrics in it
			for older := range s.settings[partner] {
				if metric == all || slices.Contains(above(older), metric) {
					delete(s.settings[partner], older)
				}
			}
		}
		for metric, on := range metrics {
			s.settings.set(partner, metric, on)
		}
	}
}

// A Decision says whether a metric reaches a partner, and why.
type Decision struct {
	Partner string `json:"partner"`
	Metric  string `json:"metric"`
	Shared  bool   `json:"shared"`
	Rule    string `json:"rule"` // 1 to 4: the service's; or default, sharing or own
	Because string `json:"because"`
}

// Explain follows the settings from the metric up its groups to all, in what was said of the
// partner, and then in what was said of all partners; the first setting that it meets decides.
func (s *State) Explain(partner, metric string) Decision {
	v := Decision{Partner: partner, Metric: metric, Shared: true, Rule: "default", Because: "nothing was said of it"}
	if s.disabled {
		v.Shared, v.Rule, v.Because = false, "sharing", "sharing is disable, which has no exceptions"
		return v
	}
	for _, of := range [...]string{partner, all} {
		said := s.settings[of]
		for _, at := range append(append([]string{metric}, above(metric)...), all) {
			on, ok := said[at]
			if !ok {
				continue
			}
			v.Shared, v.Because = on, fmt.Sprintf("%s.%s is %t", of, at, on)
			v.Rule = rule(said, of, metric, at, on)
			return v
		}
	}
	return v
}

// rule returns which of the service's four group rules applies to the setting at, which decides on
// metric, or "own" if none does.
func rule(said map[string]bool, of, metric, at string, on bool) string {
	wider := func() (group, found bool) { // the nearest setting of a group above at
		for _, g := range above(at) {
			if group, found = said[g]; found {
				return group, true
			}
		}
		group, found = said[all]
		return group, found
	}
	group, found := wider()
	switch {
	case at == all || of == all && at == metric && !found:
		return "4"
	case found && !group && on:
		return "2"
	case found && group && !on:
		return "3"
	case at != metric && !on:
		return "1"
	case at != metric:
		return "3"
	}
	return "own"
}
