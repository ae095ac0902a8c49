// Package panics makes a failure of what has panicked. Without it, a mistake in the way of one
// window would end the process, and with it all other windows of the run.
package panics

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// An Error is a panic.
type Error struct {
	Doing string
	Value any
	At    string // where it happened: function, file and line
	Stack string // of its goroutine
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: a mistake of the program: panic: %v, at %s", e.Doing, e.Value, e.At)
}

// Caught gives the error of f, which is an *Error when f panics; doing says what f does, as the
// beginning of an error does. What f starts as goroutines of its own isn't caught.
func Caught(doing string, f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &Error{doing, value, place(), string(debug.Stack())}
		}
	}()
	return f()
}

// place is the innermost frame of the panicking goroutine that isn't of Go's runtime.
func place() string {
	callers := make([]uintptr, 64)
	// Without Callers, place and the deferred function.
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "runtime.") || !more {
			return fmt.Sprintf("%s (%s:%d)", f.Function[strings.LastIndexByte(f.Function, '/')+1:],
				f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)
		}
	}
}
