package apps

import (
	"errors"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/adjust"
)

// A Report is what came of one app, or what would.
type Report struct {
	ID      string   `json:"app"`
	Name    string   `json:"name"`
	Token   string   `json:"token,omitempty"`
	Ticket  string   `json:"ticket,omitempty"`
	Result  Result   `json:"result"`
	Changes []Change `json:"changes,omitempty"`
	// Changes that stand: the service accepted values and shows others.
	Otherwise  []Change  `json:"otherwise,omitempty"`
	Unfinished bool      `json:"unfinished,omitempty"` // an earlier run sent something and didn't finish
	Sections   []Section `json:"sections,omitempty"`
	Seen       []string  `json:"seen,omitempty"`    // what the service answered in place of a plain answer
	Warning    string    `json:"warning,omitempty"` // what sending the app may do to what the service doesn't show
	Err        error     `json:"-"`

	barred bool // everything that was read of the app was refused to the token
}

// A Result is what an app needed.
type Result string

// The results.
const (
	Unchanged Result = "unchanged"
	Changed   Result = "changed"
	Created   Result = "created"
)

// saw adds what the service answered, once.
func (r *Report) saw(what string) {
	if what != "" && !slices.Contains(r.Seen, what) {
		r.Seen = append(r.Seen, what)
	}
}

// refused tells whether the token is good for nothing: it isn't known, or all that was asked for
// this app was refused. A refusal of one app alone is that app's failure.
func (r Report) refused() bool {
	return errors.Is(r.Err, adjust.ErrAuth) && (r.barred || !adjust.Unclear(r.Err))
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
