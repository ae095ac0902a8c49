package apps

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/catalog"
)

// A Section is what a migration, or what followed it, did to one section of the settings.
type Section struct {
	Name      string   `json:"section"`
	Successes []string `json:"successes,omitempty"`
	Failures  []string `json:"failures,omitempty"`
}

// SectionsOf reads a ticket's result.
func SectionsOf(t adjust.Ticket) []Section { return sectionsOf(t, func(s string) string { return s }) }

// sectionsOf reads a ticket's result, in the order of the interface document. scrub removes
// secrets, which the service's texts may repeat.
func sectionsOf(t adjust.Ticket, scrub func(string) string) []Section {
	var order []string
	for _, s := range catalog.Sections() {
		order = append(order, s.Name)
	}
	var list []Section
	for name, r := range t.Result {
		s := Section{Name: name}
		for _, item := range r.Successes {
			s.Successes = append(s.Successes, scrub(string(item)))
		}
		for _, f := range r.Failures {
			s.Failures = append(s.Failures, scrub(f.String()))
		}
		if r.Detail != "" {
			s.Failures = append(s.Failures, scrub(string(r.Detail)))
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b Section) int {
		if i, j := slices.Index(order, a.Name), slices.Index(order, b.Name); i != j {
			return i - j
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list
}

// failures returns what failed in one line: the first items of each section. It returns "" when
// nothing failed.
func failures(sections []Section) string {
	const most = 2
	var all []string
	for _, s := range sections {
		for i, f := range s.Failures {
			if i == most {
				all = append(all, fmt.Sprintf("%s: and %d more", s.Name, len(s.Failures)-most))
				break
			}
			all = append(all, s.Name+": "+f)
		}
	}
	return strings.Join(all, "; ")
}
