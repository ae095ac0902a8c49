package bucket

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// A store that ignores one of the two conditions.
type careless struct {
	*Memory
	creates, replaces bool
	calls             int
}

func (s *careless) Do(ctx context.Context, c Call) (Answer, error) {
	s.calls++
	if s.creates && c.On.Absent || s.replaces && c.On.Version != "" {
		c.On = Condition{}
	}
	return s.Memory.Do(ctx, c)
}

func TestProve(t *testing.T) {
	for _, c := range []struct {
		careless
		says string
	}{
		{careless{}, ""},
		{careless{creates: true}, "If-None-Match"},
		{careless{replaces: true}, "If-Match"},
	} {
		c.Memory = new(Memory)
		for range 2 { // a process after the other
			b := New("s3://b/ledger", &c.careless)
			for range 2 {
				err := b.Prove(t.Context())
				if c.says == "" && err != nil || c.says != "" && (!errors.Is(err, ErrUnsafe) ||
					!strings.Contains(err.Error(), c.says)) {
					t.Errorf("%+v: %v", c.careless, err)
				}
			}
		}
		if c.says == "" && c.calls != 6 {
			t.Errorf("%d calls, want 5, and 1 by the second process", c.calls)
		}
	}
}

// Who meets another's proof under way goes on with it.
func TestProveAtOnce(t *testing.T) {
	m := new(Memory)
	other := m.Open()
	b := New("mem://", overtaken{m, func() {
		if err := other.Prove(t.Context()); err != nil {
			t.Error(err)
		}
	}})
	if err := b.Prove(t.Context()); err != nil {
		t.Error(err)
	}
	if data, _, err := other.Get(t.Context(), probeKey); string(data) != proved {
		t.Errorf("%q %v", data, err)
	}
}

// An overtaken store has something else happen before each put.
type overtaken struct {
	*Memory
	before func()
}

func (o overtaken) Do(ctx context.Context, c Call) (Answer, error) {
	if c.Op == OpPut {
		o.before()
	}
	return o.Memory.Do(ctx, c)
}
