package sharing

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shownIssues is how many issues an answer names, because a megabyte holds many wrong names.
const shownIssues = 20

// issues are the invalid parts of a request, in their order.
type issues struct {
	list []string // at most shownIssues
	more int      // how many there are besides
}

// add notes an invalid part by its kind and the names on the way to it.
func (e *issues) add(kind string, path ...string) {
	if len(e.list) == shownIssues {
		e.more++
		return
	}
	for i, name := range path {
		path[i] = clip(name)
	}
	if len(path) > 0 {
		kind += ": " + strings.Join(path, ".")
	}
	e.list = append(e.list, kind)
}

// any tells whether something is invalid.
func (e *issues) any() bool { return len(e.list) > 0 }

// text joins the parts for an answer.
func (e *issues) text() string {
	if e.more > 0 {
		return strings.Join(e.list, "; ") + fmt.Sprintf("; %d more", e.more)
	}
	return strings.Join(e.list, "; ")
}

// clip shortens a name that was sent to 64 characters.
func clip(name string) string {
	const most = 64
	if utf8.RuneCountInString(name) <= most {
		return name
	}
	return string([]rune(name)[:most]) + "..."
}

// clean tells whether a text can be written in a line.
func clean(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}
