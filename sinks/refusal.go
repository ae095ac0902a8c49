package sinks

import (
	"io/fs"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// A Refusal is the error of a store that has refused a call, in one line. The message of a store's
// own client is often long and repeats itself.
type Refusal struct {
	Text   string
	Cause  error // the client's error; nil if the sink itself refused the call, and not the store
	Denied bool  // a permission is missing, so that a retry can't help
}

func (r *Refusal) Error() string { return r.Text }
func (r *Refusal) Unwrap() error { return r.Cause }

// Is lets callers who know nothing of the store recognise a missing permission as fs.ErrPermission.
func (r *Refusal) Is(target error) bool { return r.Denied && target == fs.ErrPermission }

// Pauses returns the backoff between the attempts of a sink's call. The full pause begins with
// first, doubles with each attempt, and grows to longest at most. Each actual pause is a random
// part of the full one, from the fraction least (such as 0.5) of it to all of it, so that calls
// that failed together aren't repeated together.
func Pauses(first, longest time.Duration, least float64) *backoff.ExponentialBackOff {
	// The library draws from a range around an interval, so it gets the middle of the range.
	middle := (1 + least) / 2
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = time.Duration(float64(first)*middle), time.Duration(float64(longest)*middle)
	b.Multiplier, b.RandomizationFactor = 2, (1-least)/(1+least)
	return b
}
