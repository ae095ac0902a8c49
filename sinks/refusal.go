package sinks

import "io/fs"

// A Refusal is what a store has answered, in one line: the text of a store's own client is often long and repeats itself.
type Refusal struct {
	Text   string
	Cause  error // nil: the sink has refused by itself
	Denied bool  // a permission is missing, so that a retry can't help
}

func (r *Refusal) Error() string { return r.Text }
func (r *Refusal) Unwrap() error { return r.Cause }

// Is lets callers who know nothing of the store recognise a missing permission as fs.ErrPermission.
func (r *Refusal) Is(target error) bool { return r.Denied && target == fs.ErrPermission }
