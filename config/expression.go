package config

import (
	"regexp"
	"sync"
)

// expression is a regular expression that is compiled when first needed. A file needs few of those that there are, and
// compiling them all, with their long repetitions, would take 2 ms of every start.
type expression struct {
	text     string
	compiled func() *regexp.Regexp
}

func expr(text string) expression {
	return expression{text, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

func (e expression) String() string { return e.text }

func (e expression) MatchString(s string) bool { return e.compiled().MatchString(s) }
