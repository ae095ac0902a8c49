package blobsink

import (
	"errors"
	"io/fs"
	"strings"
)

// A refusal is what a store says of credentials that it doesn't take, and what to do about it. Going on would only repeat
// it: to callers it is fs.ErrPermission, whichever store it comes from.
type refusal struct {
	text   string
	cause  error
	advice string
}

// deny makes a refusal of an error whose own text is a good one.
func deny(cause error, advice string) error {
	return &refusal{text: oneLine(cause.Error()), cause: cause, advice: advice}
}

func (r *refusal) Error() string { return r.text + "; " + r.advice }
func (r *refusal) Unwrap() error { return r.cause }

// Is makes a refusal known to those who know no stores.
func (r *refusal) Is(target error) bool { return target == fs.ErrPermission }

// opened is the error of opening a bucket in other words. It stays a refusal when it is one.
func opened(err error, text string) error {
	var r *refusal
	if errors.As(err, &r) {
		return &refusal{text: strings.TrimSuffix(text, "; "+r.advice), cause: r.cause, advice: r.advice}
	}
	return errors.New(text)
}

// oneLine is for logs: some clients answer in a paragraph.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// plainly is an error whose text is another than its cause's.
type plainly struct {
	text  string
	cause error
}

func (p *plainly) Error() string { return p.text }
func (p *plainly) Unwrap() error { return p.cause }
