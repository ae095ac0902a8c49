package bucket

import (
	"errors"
	"io/fs"
	"strings"
)

// A refusal is a store's error about credentials or permissions, with advice. A retry can't help:
// errors.Is says fs.ErrPermission, whichever store it comes from.
type refusal struct {
	text   string
	cause  error
	advice string
}

// deny makes a refusal whose text is that of an error.
func deny(cause error, advice string) error {
	return &refusal{text: oneLine(cause.Error()), cause: cause, advice: advice}
}

func (r *refusal) Error() string { return r.text + "; " + r.advice }
func (r *refusal) Unwrap() error { return r.cause }

// Is lets callers who know nothing of the store recognise a refusal.
func (r *refusal) Is(target error) bool { return target == fs.ErrPermission }

// opened gives the error of opening a bucket another text. A refusal stays one.
func opened(err error, text string) error {
	var r *refusal
	if errors.As(err, &r) {
		return &refusal{text: strings.TrimSuffix(text, "; "+r.advice), cause: r.cause, advice: r.advice}
	}
	return errors.New(text)
}

// oneLine joins the lines of an error for logs.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// plainly gives an error another text.
type plainly struct {
	text  string
	cause error
}

func (p *plainly) Error() string { return p.text }
func (p *plainly) Unwrap() error { return p.cause }
