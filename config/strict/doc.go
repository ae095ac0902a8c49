// Package strict reads a YAML file by tables of keys, and says of every mistake in which line and column it stands. Without
// it, a misspelt key would be ignored, a wrong value would surface at night, and an editor couldn't complete the file.
//
// A caller describes its file once, as an [Object]: a table of [Field]s, each with a [Shape] that says what the value must
// look like. The table is used twice, so that the reader and an editor can't disagree about a key:
//
//	               ┌── Read ───> Go values, with defaults
//	Object ────────┤                and all mistakes at once, in the order of the file
//	  Field: Shape └── Schema ─> JSON Schema, with descriptions and examples
//
// Read goes through the file like this. After a mistake it goes on, so that all of them are reported together:
//
//	bytes ──> UTF-8? ──> one YAML document ──> anchors, aliases, merge keys ──> keys known? ──> Shape ──> Check
//	                                                                                             │
//	                                           ${NAME} is filled in from the environment ────────┘
//
// Messages never repeat what may be a secret: neither a token, nor what a variable stands for, nor the query of a URL.
//
// The package knows YAML and JSON Schema, and nothing of jobs or the service.
package strict

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Options say how a file is read.
type Options struct {
	File     string // what errors call the file
	Example  string // a file that shows what belongs there, for the message about an empty one
	Env      Env    // fills in ${NAME}; nil: it is a text like any other
	MaxFile  int    // bytes of the file; 0: any number
	MaxValue int    // bytes of one text; 0: any number
}

// Read reads data into the variables that the object's fields point to. The error joins one *Error for each mistake, in the
// order of the file. The warnings are what is allowed and yet likely a slip.
func Read(data []byte, o Object, opts Options) (warnings []*Error, err error) {
	d := &Decoder{opts: opts}
	if body := d.document(data); body != nil {
		d.Object(body, o)
	}
	errs := make([]error, 0, len(d.errs))
	for _, e := range inOrder(d.errs) {
		errs = append(errs, e)
	}
	return inOrder(d.warned), errors.Join(errs...)
}

// An Error is one mistake or one warning, and its place. Line and Col count from 1, and Col counts characters, not bytes.
type Error struct {
	File      string
	Line, Col int
	Msg       string
}

// Error has the place in front, unless the text is of no file that a person could open.
func (e *Error) Error() string {
	if e.File == "" {
		return e.Msg
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Msg)
}

// inOrder sorts by place and drops what was noted twice.
func inOrder(errs []*Error) []*Error {
	slices.SortStableFunc(errs, func(a, b *Error) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		if a.Col != b.Col {
			return a.Col - b.Col
		}
		return strings.Compare(a.Msg, b.Msg)
	})
	return slices.CompactFunc(errs, func(a, b *Error) bool { return *a == *b })
}
