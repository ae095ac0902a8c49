package apps

import (
	"regexp"
	"sync"
)

// pattern gives an expression that is compiled when it is asked for: those that find credentials are large, and each start of the
// program, of whatever command, would wait for them.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
