package apps

import (
	"errors"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/adjust"
)

// A Report is the result for one app: of a run, or of a comparison that sends nothing.
type Report struct {
	ID      string   `json:"app"`
	Name    string   `json:"name"`
	Token   string   `json:"token,omitempty"`
	Ticket  string   `json:"ticket,omitempty"`
	Result  Result   `json:"result"`
	Changes []Change `json:"changes,omitempty"`
	// Differences that stay: the service accepted values and shows others.
	Otherwise  []Change  `json:"otherwise,omitempty"`
	Unfinished bool      `json:"unfinished,omitempty"` // an earlier run sent something and didn't finish
	Sections   []Section `json:"sections,omitempty"`
	Seen       []string  `json:"seen,omitempty"`    // answers of the service that weren't plain
	Warning    string    `json:"warning,omitempty"` // what sending may do to settings that aren't shown
	Err        error     `json:"-"`

	readRefused bool // the token was refused every read of the app
}

// A Result says what an app needed.
type Result string

// The results.
const (
	Unchanged Result = "unchanged"
	Changed   Result = "changed"
	Created   Result = "created"
)

// addSeen adds an answer of the service to Seen, unless it is there already.
func (r *Report) addSeen(what string) {
	if what != "" && !slices.Contains(r.Seen, what) {
		r.Seen = append(r.Seen, what)
	}
}

// refused reports whether the token is no good for any app: it is unknown, or it was refused every
// read of this app. Any other refusal is a failure of this app alone.
func (r Report) refused() bool {
	return errors.Is(r.Err, adjust.ErrAuth) && (r.readRefused || !adjust.Unclear(r.Err))
}

// visible returns the changes whose present value the service shows.
func visible(changes []Change) []Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c Change) bool { return c.Have == notShownByService })
}

// paths lists the fields of changes, for a log.
func paths(changes []Change) string {
	var all []string
	for _, c := range changes {
		all = append(all, c.Path)
	}
	return strings.Join(all, ", ")
}
