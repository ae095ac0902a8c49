package sinks

import (
	"io/fs"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// A Refusal is what a store has answered, in one line: the text of a store's own client is often
// long and repeats itself.
type Refusal struct {
	Text   string
	Cause  error // nil: the sink has refused by itself
	Denied bool  // a permission is missing, so that a retry can't help
}

func (r *Refusal) Error() string { return r.Text }
func (r *Refusal) Unwrap() error { return r.Cause }

// Is lets callers who know nothing of the store recognise a missing permission as fs.ErrPermission.
func (r *Refusal) Is(target error) bool { return r.Denied && target == fs.ErrPermission }

// Pauses grow to the longest between tries of a sink's calls. What is drawn lies between least
// times the pause and the pause, so that calls that failed together don't come back together.
func Pauses(first, longest time.Duration, least float64) *backoff.ExponentialBackOff {
	middle := (1 + least) / 2
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = time.Duration(float64(first)*middle), time.Duration(float64(longest)*middle)
	b.Multiplier, b.RandomizationFactor = 2, (1-least)/(1+least)
	return b
}
