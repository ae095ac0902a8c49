package bucket

import (
	"context"
	"errors"
	"io/fs"
	"testing"
	"testing/synctest"
	"time"
)

// A network does what it is told to, to the calls that it is told.
func TestFaulty(t *testing.T) {
	lost := errors.New("the answer is lost")
	for name, test := range map[string]func(t *testing.T, b, near *Bucket, fate *Fate){
		"a lost answer took effect": func(t *testing.T, b, near *Bucket, fate *Fate) {
			*fate = Fate{Err: lost}
			_, err := b.Put(t.Context(), "k", []byte("two"), Condition{Absent: true})
			holds(t, near, "two", err, lost)
		},
		"a call that never arrives": func(t *testing.T, b, near *Bucket, fate *Fate) {
			*fate = Fate{Never: true, Err: lost}
			_, err := b.Put(t.Context(), "k", []byte("two"), Condition{Absent: true})
			holds(t, near, "", err, lost)
			*fate = Fate{Never: true}
			_, err = b.Put(t.Context(), "k", []byte("two"), Condition{Absent: true})
			holds(t, near, "", err, context.DeadlineExceeded)
		},
		"one that is slow": func(t *testing.T, b, near *Bucket, fate *Fate) {
			*fate = Fate{Delay: time.Second, Slow: 2 * time.Second}
			began := time.Now()
			_, err := b.Put(t.Context(), "k", []byte("two"), Condition{Absent: true})
			holds(t, near, "two", err, nil)
			if took := time.Since(began); took != 3*time.Second {
				t.Errorf("it took %v", took)
			}
		},
		"one whose caller gives up": func(t *testing.T, b, near *Bucket, fate *Fate) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			*fate = Fate{Delay: 2 * time.Second}
			_, err := b.Put(ctx, "k", []byte("two"), Condition{Absent: true})
			holds(t, near, "", err, context.DeadlineExceeded)
		},
		"one that is sent twice": func(t *testing.T, b, near *Bucket, fate *Fate) {
			*fate = Fate{Twice: true}
			_, err := b.Put(t.Context(), "k", []byte("two"), Condition{Absent: true})
			holds(t, near, "two", err, ErrConflict)
		},
		"one that comes late": func(t *testing.T, b, near *Bucket, fate *Fate) {
			var apply func()
			*fate = Fate{Never: true, Err: lost, Later: func(f func()) { apply = f }}
			_, err := b.Put(t.Context(), "k", []byte("two"), Condition{})
			holds(t, near, "", err, lost)
			_, err = near.Put(t.Context(), "k", []byte("three"), Condition{})
			holds(t, near, "three", err, nil)
			apply()
			holds(t, near, "two", nil, nil)
		},
		"a listing that lags": func(t *testing.T, b, near *Bucket, fate *Fate) {
			_, err := near.Put(t.Context(), "k", []byte("one"), Condition{})
			holds(t, near, "one", err, nil)
			time.Sleep(time.Minute)
			_, err = near.Put(t.Context(), "l", []byte("two"), Condition{})
			holds(t, near, "one", err, nil)
			err = near.Delete(t.Context(), "k")
			holds(t, near, "", err, nil)
			*fate = Fate{Lag: time.Minute}
			then, err := b.List(t.Context(), "")
			now, nearErr := near.List(t.Context(), "")
			if err != nil || nearErr != nil || len(then) != 1 || then[0].Key != "k" || len(now) != 1 || now[0].Key != "l" {
				t.Errorf("%v (%v), now %v (%v)", then, err, now, nearErr)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, fate := new(Memory), new(Fate)
				test(t, NewFaulty(m, func(Call) Fate { return *fate }), m.Open(), fate)
			})
		})
	}
}

// holds checks what is under the key k, and an error.
func holds(t *testing.T, b *Bucket, want string, err, as error) {
	t.Helper()
	data, _, missing := b.Get(t.Context(), "k")
	if string(data) != want || want == "" && !errors.Is(missing, fs.ErrNotExist) || !errors.Is(err, as) || as == nil && err != nil {
		t.Errorf("%q is there (%v), want %q; the error is %v, want %v", data, missing, want, err, as)
	}
}

// A store that asks for fewer writes gets the same one again, later, and not for ever.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, times := new(Memory), 3
		b := NewFaulty(m, func(Call) Fate {
			if times--; times >= 0 {
				return Fate{Never: true, Err: ErrBusy}
			}
			return Fate{}
		})
		began := time.Now()
		_, err := b.Put(t.Context(), "k", []byte("one"), Condition{Absent: true})
		holds(t, m.Open(), "one", err, nil)
		if took := time.Since(began); took < 3500*time.Millisecond || took > 7*time.Second {
			t.Errorf("after %v", took)
		}
		times = 1 << 30
		_, err = b.Put(t.Context(), "k", []byte("two"), Condition{})
		holds(t, m.Open(), "one", err, ErrBusy)
		if took := time.Since(began); took > 3*time.Minute {
			t.Errorf("after %v", took)
		}
	})
}

// Time goes on since the last answer, by the store's clock.
func TestNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, ahead := 0, time.Hour
		m := &Memory{Now: func() time.Time { return time.Now().Add(ahead) }}
		b := NewFaulty(m, func(Call) Fate { asked++; return Fate{} })
		for range 2 {
			now, known, err := b.Now(t.Context())
			if got := time.Until(now); got != time.Hour || !known || err != nil || asked != 1 {
				t.Errorf("ahead by %v, known %v, %v; asked %d times", got, known, err, asked)
			}
			time.Sleep(time.Minute)
		}
		ahead = 2 * time.Hour
		_, _ = b.List(t.Context(), "") //nolint:errcheck // for its answer
		if now, _, _ := b.Now(t.Context()); time.Until(now) != ahead || asked != 2 {
			t.Errorf("ahead by %v; asked %d times", time.Until(now), asked)
		}
	})
}
