package apps

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/catalog"
)

// A Report is what came of one app, or what would.
type Report struct {
	ID, Name      string
	Token, Ticket string
	Result        Result
	Changes       []Change
	Otherwise     []Change // changes that stand: the service accepted values and shows others
	Unfinished    bool     // an earlier run sent something and didn't finish
	Sections      []Section
	Seen          []string // what the service answered in place of a plain answer
	Err           error
}

// A Result is what an app needed.
type Result string

// The results.
const (
	Unchanged Result = "unchanged"
	Changed   Result = "changed"
	Created   Result = "created"
)

// A Section is what a migration, or what followed it, did to one section of the settings.
type Section struct {
	Name      string   `json:"section"`
	Successes []string `json:"successes,omitempty"`
	Failures  []string `json:"failures,omitempty"`
}

// MarshalJSON writes the report for machines.
func (r Report) MarshalJSON() ([]byte, error) {
	out := struct {
		ID         string    `json:"app"`
		Name       string    `json:"name"`
		Token      string    `json:"token,omitempty"`
		Ticket     string    `json:"ticket,omitempty"`
		Result     Result    `json:"result"`
		Changes    []Change  `json:"changes,omitempty"`
		Otherwise  []Change  `json:"otherwise,omitempty"`
		Unfinished bool      `json:"unfinished,omitempty"`
		Sections   []Section `json:"sections,omitempty"`
		Seen       []string  `json:"seen,omitempty"`
		Error      string    `json:"error,omitempty"`
	}{r.ID, r.Name, r.Token, r.Ticket, r.Result, r.Changes, r.Otherwise, r.Unfinished, r.Sections, r.Seen, ""}
	if r.Err != nil {
		out.Error = r.Err.Error()
	}
	return json.Marshal(out)
}

// saw adds what the service answered, once.
func (r *Report) saw(what string) {
	if what != "" && !slices.Contains(r.Seen, what) {
		r.Seen = append(r.Seen, what)
	}
}

// visible are the changes whose present value the service shows.
func visible(changes []Change) []Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c Change) bool { return c.Have == unseen })
}

func paths(changes []Change) string {
	var all []string
	for _, c := range changes {
		all = append(all, c.Path)
	}
	return strings.Join(all, ", ")
}

// SectionsOf reads a ticket's result.
func SectionsOf(t adjust.Ticket) []Section { return sectionsOf(t, func(s string) string { return s }) }

// sectionsOf reads a ticket's result, in the order of the interface document. scrub takes secrets out, which a service's
// words may repeat.
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

// failures says in one line what failed: the first items of each section. It is empty when nothing did.
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
