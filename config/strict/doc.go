// Package strict reads a YAML file by tables of keys, and reports the line and column of every
// mistake. Without it, a misspelt key would be ignored, a wrong value would surface at night, and
// an editor couldn't complete the file.
//
// A caller describes its file once, as an [Object]: a table of [Field]s, each with a [Shape] that
// says what the value must look like. The table is used twice, so that the reader and an editor
// can't disagree about a key:
//
//	               ┌── Read ───> Go values, with defaults
//	Object ────────┤                and all mistakes at once, in the order of the file
//	  Field: Shape └── Schema ─> JSON Schema, with descriptions and examples
//
// Read goes through the file like this. After a mistake it goes on, so that all of them are
// reported together:
//
//	bytes ──> UTF-8? ──> one YAML document ──> anchors, aliases, merge keys ──> keys known? ──> Shape ──> Check
//	                                                                                             │
//	                                           ${NAME} is filled in from the environment ────────┘
//
// Messages never repeat what may be a secret: neither a token, nor what a variable stands for, nor
// the query of a URL.
//
// Show reads as Read does, and returns every key with its value, including the keys that the file
// leaves out.
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
	Env      Env    // fills in ${NAME}; nil: ${NAME} is ordinary text
	MaxFile  int    // bytes of the file; 0: any number
	MaxValue int    // bytes of one text; 0: any number
}

// Read reads data into the variables that the object's fields point to. The error joins one *Error
// for each mistake, in the order of the file. If there are very many mistakes of one kind, only the
// first few are listed, with the number of the others. The warnings are about what is allowed but
// likely a slip.
func Read(data []byte, o Object, opts Options) (warnings []*Error, err error) {
	_, warnings, err = read(data, o, opts)
	return warnings, err
}

// read does what Read does, and also returns the decoder, which still knows every node.
func read(data []byte, o Object, opts Options) (d *Decoder, warnings []*Error, err error) {
	d = &Decoder{opts: opts, objects: map[Node]Object{}, asIs: map[Node]bool{}}
	if d.body = d.document(data); d.body != nil {
		d.Object(d.body, o)
	}
	errs := make([]error, 0, len(d.errs))
	for _, e := range inOrder(d.errs) {
		errs = append(errs, e)
	}
	return d, inOrder(d.warned), errors.Join(errs...)
}

// An Error is one mistake or one warning, and its place. Line and Col count from 1, and Col counts
// characters, not bytes.
type Error struct {
	File      string
	Line, Col int
	Msg       string
	More      int    // how many further ones of this kind aren't listed
	Last      [2]int // line and column of the last unlisted one

	kind string // mistakes of one kind differ only in names, values and places
}

// Error returns the message with its place in front. Without a file name, the place is left out.
func (e *Error) Error() string {
	place := func(line, col int) string {
		if e.File == "" {
			return ""
		}
		return fmt.Sprintf("%s:%d:%d: ", e.File, line, col)
	}
	text := place(e.Line, e.Col) + e.Msg
	if e.More > 0 {
		text += fmt.Sprintf("\n%sand %d more like it", place(e.Last[0], e.Last[1]), e.More)
	}
	return text
}

// Up to mostListed mistakes of one kind are all listed. Of more, only the first fewListed are,
// because one slip may be repeated on every line of a long list.
const (
	mostListed = 8
	fewListed  = 3
)

// shortened drops all but the first few of very many errors of one kind, and counts the dropped
// ones.
func shortened(errs []*Error) []*Error {
	count, listed := map[string]int{}, map[string]int{}
	for _, e := range errs {
		count[e.kind]++
	}
	last := map[string]*Error{} // the last listed error of each kind
	return slices.DeleteFunc(errs, func(e *Error) bool {
		if count[e.kind] <= mostListed {
			return false
		}
		if listed[e.kind]++; listed[e.kind] <= fewListed {
			last[e.kind] = e
			return false
		}
		last[e.kind].More++
		last[e.kind].Last = [2]int{e.Line, e.Col}
		return true
	})
}

// inOrder sorts errors by place, drops duplicates, and shortens long runs of one kind.
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
	return shortened(slices.CompactFunc(errs, func(a, b *Error) bool { return *a == *b }))
}
