package apps

import (
	"encoding/json"
	"slices"
	"strings"
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
