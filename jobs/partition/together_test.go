package partition

import (
	"context"
	"errors"
	"regexp"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/panics"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// crowd is a sink that takes three parts at a time, for as long as one would take. It forgets the
// versions of what it holds, as a store does whose files were rewritten by somebody long ago.
type crowd struct {
	mu         sync.Mutex
	now, most  int
	held       map[civil.Date]sinks.Receipt
	forgetting bool
	mistaken   civil.Date // of which a put panics
}

func (c *crowd) Together() int { return 3 }

func (c *crowd) Put(_ context.Context, p sinks.Part) (sinks.Receipt, error) {
	c.mu.Lock()
	c.now++
	c.most = max(c.most, c.now)
	c.mu.Unlock()
	time.Sleep(time.Second)
	if p.Partition == c.mistaken {
		panic("a mistake of the sink")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now--
	r := sinks.Receipt{Key: p.Partition.String(), Size: p.Size, Version: "v" + p.Hash}
	c.held[p.Partition] = r
	return r, nil
}

func (c *crowd) ConditionOf(context.Context, string, civil.Date, bool) (sinks.Condition, error) {
	return sinks.Condition{}, nil
}

func (c *crowd) List(context.Context, string) (list []sinks.Object, err error) {
	for at, r := range c.held {
		o := sinks.Object{Key: r.Key, Partition: at, Size: r.Size, Version: r.Version}
		if c.forgetting {
			o.Size, o.Version = o.Size+100, ""
		}
		list = append(list, o)
	}
	return list, nil
}

func (c *crowd) Store() string { return "crowd" }
func (c *crowd) Close() error  { return nil }

// A sink that takes several parts in one go gets as many at a time as it says, beside others that
// don't.
func TestPutTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		many := &crowd{held: map[civil.Date]sinks.Receipt{}}
		one := newShelf()
		p := newPublisher(t, ledger.Target{Name: "many", Sink: many},
			ledger.Target{Name: "one", Sink: guarded{one, new(sync.Mutex)}})
		to := openAt(t, p.ledger, p.target...)
		var w refresh.Window
		a := Answer{Fetched: moment("2026-01-09T06:00")}
		for day := date("2026-01-01"); day.Before(date("2026-01-08")); day = day.AddDays(1) {
			w.Due = append(w.Due, refresh.Due{Partition: day, Seq: 1})
			a.Parts = append(a.Parts, table.Part{Partition: day, Rows: 1, Hash: day.String()})
		}
		began := time.Now()
		out, err := deliverIn(t, to, Definition{Schema: &sinks.Schema{},
			Rules: refresh.Rules{Period: refresh.Day, Location: time.UTC}}, w, a)
		check(t, err)
		if took := time.Since(began); out.Written != 7 || many.most != 3 || took != 3*time.Second || one.puts != 7 {
			t.Errorf("%d written, %d at a time, %s, %d to the other sink", out.Written, many.most, took, one.puts)
		}

		// A part of which the store can't tell the version any more isn't taken for another one.
		for _, forgetting := range []bool{false, true} {
			many.forgetting = forgetting
			changed, err := openAt(t, p.ledger, p.target...).FindChanged(t.Context())
			if err != nil || len(changed) > 0 {
				t.Errorf("forgetting %v: changed are %v, %v", forgetting, changed, err)
			}
		}
		delete(many.held, date("2026-01-03"))
		changed, err := openAt(t, p.ledger, p.target...).FindChanged(t.Context())
		if err != nil || len(changed) != 1 || !changed[date("2026-01-03")] {
			t.Errorf("after a part was deleted: %v, %v", changed, err)
		}
	})
}

// guarded is a shelf for several goroutines.
type guarded struct {
	*shelf
	mu *sync.Mutex
}

func (g guarded) Put(ctx context.Context, p sinks.Part) (sinks.Receipt, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shelf.Put(ctx, p)
}

// A put that panics is the failure of its partition alone.
func TestAPutThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &crowd{held: map[civil.Date]sinks.Receipt{}, mistaken: date("2026-01-02")}
		p := newPublisher(t, ledger.Target{Name: "many", Sink: sink})
		to := openAt(t, p.ledger, p.target...)
		var w refresh.Window
		a := Answer{Fetched: moment("2026-01-09T06:00")}
		for day := date("2026-01-01"); day.Before(date("2026-01-04")); day = day.AddDays(1) {
			w.Due = append(w.Due, refresh.Due{Partition: day, Seq: 1})
			a.Parts = append(a.Parts, table.Part{Partition: day, Rows: 1, Hash: day.String()})
		}
		out, err := deliverIn(t, to, Definition{Schema: &sinks.Schema{},
			Rules: refresh.Rules{Period: refresh.Day, Location: time.UTC}}, w, a)
		var panicked *panics.Error
		if !errors.As(err, &panicked) || out.Written != 2 || out.Failed != 1 || len(sink.held) != 2 {
			t.Fatalf("%+v, %v", out, err)
		}
		if !regexp.MustCompile(
			`^put .*/2026-01-02: a mistake of the program: panic: a mistake of the sink, at partition\.\(\*crowd\)\.Put \(together_test\.go:\d+\)$`).MatchString(err.Error()) {
			t.Errorf("it says %s", err)
		}
	})
}
