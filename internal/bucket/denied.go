package bucket

import (
	"errors"
	"io/fs"
	"strings"
)

// A refusal is a store's error about credentials or permissions, with advice. A retry can't help.
// For every store, errors.Is matches it with fs.ErrPermission.
type refusal struct {
	text   string
	cause  error
	advice string
}

// deny returns a refusal that has the text of an error.
func deny(cause error, advice string) error {
	return &refusal{text: oneLine(cause.Error()), cause: cause, advice: advice}
}

func (r *refusal) Error() string { return r.text + "; " + r.advice }
func (r *refusal) Unwrap() error { return r.cause }

// Is lets callers that know nothing of the store recognise a refusal.
func (r *refusal) Is(target error) bool { return target == fs.ErrPermission }

// opened returns the error of opening a bucket with another text. A refusal remains a refusal.
func opened(err error, text string) error {
	var r *refusal
	if errors.As(err, &r) {
		return &refusal{text: strings.TrimSuffix(text, "; "+r.advice), cause: r.cause, advice: r.advice}
	}
	return errors.New(text)
}

// oneLine joins the lines of a text, for logs.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// plainly is an error with another text.
type plainly struct {
	text  string
	cause error
}

func (p *plainly) Error() string { return p.text }
func (p *plainly) Unwrap() error { return p.cause }
