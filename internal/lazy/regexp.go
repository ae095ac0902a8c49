// Package lazy makes values when they are first used. Without it, every command would begin by
// compiling the regular expressions of all commands: half a megabyte, and a tenth of the time until
// a first request is sent.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that compiles the expression at its first call, and panics if it is
// invalid. A test of internal/house compiles every one that is written in the code.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
