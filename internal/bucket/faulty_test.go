package bucket_test

import (
	"context"
	"errors"
	"io/fs"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/bucket/buckettest"
)

// A network does what it is told to, to the calls that it is told.
func TestFaulty(t *testing.T) {
	lost := errors.New("the answer is lost")
	for name, test := range map[string]func(t *testing.T, b, near *bucket.Bucket, fate *buckettest.Fate){
		"a lost answer took effect": func(t *testing.T, b, near *bucket.Bucket, fate *buckettest.Fate) {
			*fate = buckettest.Fate{Err: lost}
			_, err := b.Put(t.Context(), "k", []byte("two"), bucket.Condition{Absent: true})
			holds(t, near, "two", err, lost)
		},
		"a call that never arrives": func(t *testing.T, b, near *bucket.Bucket, fate *buckettest.Fate) {
			*fate = buckettest.Fate{Never: true, Err: lost}
			_, err := b.Put(t.Context(), "k", []byte("two"), bucket.Condition{Absent: true})
			holds(t, near, "", err, lost)
			*fate = buckettest.Fate{Never: true}
			_, err = b.Put(t.Context(), "k", []byte("two"), bucket.Condition{Absent: true})
			holds(t, near, "", err, context.DeadlineExceeded)
		},
		"one that is slow": func(t *testing.T, b, near *bucket.Bucket, fate *buckettest.Fate) {
			*fate = buckettest.Fate{Delay: time.Second, Slow: 2 * time.Second}
			began := time.Now()
			_, err := b.Put(t.Context(), "k", []byte("two"), bucket.Condition{Absent: true})
			holds(t, near, "two", err, nil)
			if took := time.Since(began); took != 3*time.Second {
				t.Errorf("it took %v", took)
			}
		},
		"one whose caller gives up": func(t *testing.T, b, near *bucket.Bucket, fate *buckettest.Fate) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			*fate = buckettest.Fate{Delay: 2 * time.Second}
			_, err := b.Put(ctx, "k", []byte("two"), bucket.Condition{Absent: true})
			holds(t, near, "", err, context.DeadlineExceeded)
		},
		"one that is sent twice": func(t *testing.T, b, near *bucket.Bucket, fate *buckettest.Fate) {
			*fate = buckettest.Fate{Twice: true}
			_, err := b.Put(t.Context(), "k", []byte("two"), bucket.Condition{Absent: true})
			holds(t, near, "two", err, bucket.ErrConflict)
		},
		"one that comes late": func(t *testing.T, b, near *bucket.Bucket, fate *buckettest.Fate) {
			var apply func()
			*fate = buckettest.Fate{Never: true, Err: lost, Later: func(f func()) { apply = f }}
			_, err := b.Put(t.Context(), "k", []byte("two"), bucket.Condition{})
			holds(t, near, "", err, lost)
			_, err = near.Put(t.Context(), "k", []byte("three"), bucket.Condition{})
			holds(t, near, "three", err, nil)
			apply()
			holds(t, near, "two", nil, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, fate := new(bucket.Memory), new(buckettest.Fate)
				test(t, buckettest.NewFaulty(m, func(bucket.Call) buckettest.Fate { return *fate }), m.Open(), fate)
			})
		})
	}
}

// holds checks what is under the key k, and an error.
func holds(t *testing.T, b *bucket.Bucket, want string, err, as error) {
	t.Helper()
	data, _, missing := b.Get(t.Context(), "k")
	if string(data) != want || want == "" && !errors.Is(missing, fs.ErrNotExist) || !errors.Is(err, as) || as == nil &&
		err != nil {
		t.Errorf("%q is there (%v), want %q; the error is %v, want %v", data, missing, want, err, as)
	}
}

// A store that asks for fewer writes gets the same one again, later, and not for ever.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, times := new(bucket.Memory), 3
		b := buckettest.NewFaulty(m, func(bucket.Call) buckettest.Fate {
			if times--; times >= 0 {
				return buckettest.Fate{Never: true, Err: bucket.ErrBusy}
			}
			return buckettest.Fate{}
		})
		began := time.Now()
		_, err := b.Put(t.Context(), "k", []byte("one"), bucket.Condition{Absent: true})
		holds(t, m.Open(), "one", err, nil)
		if took := time.Since(began); took < 3500*time.Millisecond || took > 7*time.Second {
			t.Errorf("after %v", took)
		}
		times = 1 << 30
		_, err = b.Put(t.Context(), "k", []byte("two"), bucket.Condition{})
		holds(t, m.Open(), "one", err, bucket.ErrBusy)
		if took := time.Since(began); took > 3*time.Minute {
			t.Errorf("after %v", took)
		}
	})
}

// Time goes on since the last answer, by the store's clock.
func TestNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, ahead := 0, time.Hour
		m := &bucket.Memory{Now: func() time.Time { return time.Now().Add(ahead) }}
		b := buckettest.NewFaulty(m, func(bucket.Call) buckettest.Fate { asked++; return buckettest.Fate{} })
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
