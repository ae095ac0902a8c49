// Package panics turns a panic into an error. Without it, a bug that one window meets would end the
// process, and with it all other windows of the run.
package panics

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// An Error is a panic that was caught.
type Error struct {
	Doing string // what panicked did, as the beginning of an error
	Value any    // what panic was called with
	At    string // where it happened: function, file and line
	Stack string // of its goroutine
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: a mistake of the program: panic: %v, at %s", e.Doing, e.Value, e.At)
}

// Caught calls f and returns its error, or an *Error if f panics. doing says what f does, as the
// beginning of an error does. Panics in goroutines that f starts aren't caught.
func Caught(doing string, f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &Error{doing, value, place(), string(debug.Stack())}
		}
	}()
	return f()
}

// place returns the innermost frame of the panicking goroutine that isn't in Go's runtime.
func place() string {
	callers := make([]uintptr, 64)
	// 3 skips Callers, place and the deferred function.
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "runtime.") || !more {
			return fmt.Sprintf("%s (%s:%d)", f.Function[strings.LastIndexByte(f.Function, '/')+1:],
				f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)
		}
	}
}
