package bucket

import (
	"errors"
	"io/fs"
	"strings"
)

// A refusal is a store's error about credentials or permissions, with advice. A retry can't help.
// For every store, errors.Is matches it with fs.ErrPermission.
type refusal struct {
	text   string // what the store said, in one line
	cause  error
	advice string // what a person can do
}

// deny returns a refusal that has the text of an error.
func deny(cause error, advice string) error {
	return &refusal{text: oneLine(cause.Error()), cause: cause, advice: advice}
}

func (r *refusal) Error() string { return r.text + "; " + r.advice }
func (r *refusal) Unwrap() error { return r.cause }

// Is lets callers that know nothing of the store recognise a refusal.
func (r *refusal) Is(target error) bool { return target == fs.ErrPermission }

// withText returns an error of opening a bucket with another text. A refusal remains a refusal, and
// gets its advice behind the text; any other error is replaced by a new one.
func withText(err error, text string) error {
	var r *refusal
	if errors.As(err, &r) {
		return &refusal{text: strings.TrimSuffix(text, "; "+r.advice), cause: r.cause, advice: r.advice}
	}
	return errors.New(text)
}

// oneLine joins the lines of a text, for logs.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// A rewordedError is an error with another text.
type rewordedError struct {
	text  string
	cause error
}

func (p *rewordedError) Error() string { return p.text }
func (p *rewordedError) Unwrap() error { return p.cause }
