package apps

import (
	"errors"
	"testing"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/bucket/buckettest"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// A write whose answer was lost is the run's own. What a run has read before another one wrote it
// doesn't replace.
func TestWritersOfProgress(t *testing.T) {
	memory := &bucket.Memory{}
	lost := false
	open := func() *Kind {
		store := buckettest.NewFaulty(memory, func(c bucket.Call) (f buckettest.Fate) {
			if c.Op == bucket.OpPut && c.Key == "apps/account.json" && lost {
				f.Err, lost = errors.New("the answer was lost"), false
			}
			return f
		})
		return New(Options{Job: "account", Table: "account",
			Ledger: ledger.Open(ledger.Options{Store: store, URL: "mem://", Task: "each takes over at once"})})
	}
	ctx, one, two := t.Context(), open(), open()
	_, first, err := one.open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, second, err := two.open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	lost = true
	for _, state := range []State{Sending, Waiting} {
		if err := second.writeApp(ctx, "a", record{State: state, Run: "second"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.writeApp(ctx, "a", record{State: Sending, Run: "first"}); !errors.Is(err, ledger.ErrLost) {
		t.Errorf("the run that is late: %v", err)
	}
	_, first, err = one.open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.writeApp(ctx, "b", record{State: Done, Run: "first"}); err != nil {
		t.Error(err)
	}
	if err := second.writeApp(ctx, "a", record{State: Done, Run: "second"}); !errors.Is(err, ledger.ErrLost) {
		t.Errorf("the run that was taken over: %v", err)
	}
	known, err := two.Known(ctx)
	if err != nil || len(known) != 2 || known[0].State != Waiting || known[0].Run != "second" ||
		known[1].State != Done {
		t.Errorf("%+v %v", known, err)
	}
}
