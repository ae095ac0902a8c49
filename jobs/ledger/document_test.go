package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/bucket/buckettest"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// tokens are what the tests' changes add, each once.
type tokens struct {
	Tokens []string `json:"tokens"`
}

func add(token string) ledger.Change[tokens] {
	return ledger.Change[tokens]{
		Apply: func(c *tokens) error { c.Tokens = append(c.Tokens, token); return nil },
		Done: func(c *tokens) bool {
			for _, t := range c.Tokens {
				if t == token {
					return true
				}
			}
			return false
		},
	}
}

// Many processes with many changes each, over a network that loses, doubles and delays: each change
// that was confirmed is there once, one that wasn't at most once.
func TestEachChangeIsThereOnce(t *testing.T) {
	for seed := range 40 {
		synctest.Test(t, func(t *testing.T) {
			memory := &bucket.Memory{Hashed: seed%2 == 0}
			var calls atomic.Int64 // by all processes
			decide := func(c bucket.Call) (f buckettest.Fate) {
				n := int(calls.Add(1))
				if c.Op != bucket.OpPut && c.Op != bucket.OpGet {
					return f
				}
				switch (n*7 + seed*13) % 11 {
				case 0:
					f.Err = errors.New("the answer was lost")
				case 1:
					f.Twice = true
				case 2:
					f.Delay = time.Second
				case 3:
					f.Never, f.Err = true, errors.New("the call was lost")
				case 4:
					if c.Op == bucket.OpPut {
						f.Later = func(apply func()) { time.AfterFunc(3*time.Second, apply) }
					}
				}
				return f
			}
			confirmed := map[string]bool{}
			var mu sync.Mutex
			var all sync.WaitGroup
			for process := range 3 {
				d := ledger.NewDocument[tokens](ledger.Open(ledger.Options{Store: buckettest.NewFaulty(memory,
					decide)}), "x.json", "")
				for i := range 8 {
					all.Go(func() {
						token := fmt.Sprint(process, "/", i)
						err := d.Change(t.Context(), add(token))
						mu.Lock()
						defer mu.Unlock()
						confirmed[token] = err == nil
					})
				}
			}
			all.Wait()
			time.Sleep(time.Minute)
			d := ledger.NewDocument[tokens](ledger.Open(ledger.Options{Store: memory.Open()}), "x.json", "")
			content, _, err := d.Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			times := map[string]int{}
			for _, token := range content.Tokens {
				times[token]++
			}
			for token, sure := range confirmed {
				if times[token] > 1 || sure && times[token] != 1 {
					t.Errorf("seed %d: %s is there %d times, confirmed: %v", seed, token, times[token], sure)
				}
			}
		})
	}
}

func TestChangesShareAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		puts := 0
		store := buckettest.NewFaulty(&bucket.Memory{}, func(c bucket.Call) buckettest.Fate {
			if c.Op == bucket.OpPut && c.Key == "x.json" {
				puts++
			}
			return buckettest.Fate{Delay: time.Second}
		})
		d := ledger.NewDocument[tokens](ledger.Open(ledger.Options{Store: store}), "x.json", "")
		var all sync.WaitGroup
		refusal := errors.New("refused")
		for i := range 50 {
			all.Go(func() {
				c := add(fmt.Sprint(i))
				if i == 20 {
					c.Apply = func(c *tokens) error { c.Tokens = nil; return refusal }
				}
				if err := d.Change(t.Context(), c); (i == 20) != errors.Is(err, refusal) {
					t.Errorf("change %d: %v", i, err)
				}
			})
		}
		all.Wait()
		if content := d.Last(); len(content.Tokens) != 49 || puts > 3 {
			t.Errorf("%d changes in %d writes, want 49 in at most 3", len(content.Tokens), puts)
		}
	})
}

// Who gives up leaves the changes of others alone.
func TestOneGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := true
		store := buckettest.NewFaulty(&bucket.Memory{}, func(c bucket.Call) buckettest.Fate {
			return buckettest.Fate{Never: silent && c.Op == bucket.OpPut && c.Key == "x.json"}
		})
		d := ledger.NewDocument[tokens](ledger.Open(ledger.Options{Store: store}), "x.json", "")
		stopped, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if err := d.Change(stopped, add("first")); !errors.Is(err, context.Canceled) {
				t.Errorf("the one that gave up: %v", err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			if err := d.Change(t.Context(), add("second")); err != nil {
				t.Errorf("the other: %v", err)
			}
		})
		synctest.Wait()
		silent = false
		stop()
		all.Wait()
		if content := d.Last(); strings.Join(content.Tokens, " ") != "second" {
			t.Errorf("there is %v, want second alone", content.Tokens)
		}
	})
}

func TestDamagedDocument(t *testing.T) {
	for name, change := range map[string]func([]byte) []byte{
		"flipped":   func(b []byte) []byte { b[len(b)-8] ^= 1; return b },
		"cut":       func(b []byte) []byte { return b[:len(b)/2] },
		"empty":     func([]byte) []byte { return nil },
		"other":     func([]byte) []byte { return []byte("{}\n") },
		"long":      func(b []byte) []byte { return append(b, b...) },
		"not ours":  func([]byte) []byte { return []byte("<html>") },
		"a newer's": func([]byte) []byte { return []byte(`{"v":3,"token":"x","xxh64":"x","content":{}}`) },
	} {
		for _, size := range []int{10, 10_000} {
			t.Run(fmt.Sprint(name, " ", size), func(t *testing.T) {
				store := bucket.NewMemory()
				l := ledger.Open(ledger.Options{Store: store, URL: "mem://ledger"})
				check(t, ledger.NewDocument[tokens](l, "x.json", "").Change(t.Context(),
					add(strings.Repeat("x", size))))
				data, version, err := store.Get(t.Context(), "x.json")
				check(t, err)
				if len(data) > 4<<10 {
					t.Errorf("%d bytes of the same are stored as %d", size, len(data))
				}
				_, err = store.Put(t.Context(), "x.json", change(data), bucket.Condition{Version: version})
				check(t, err)
				d := ledger.NewDocument[tokens](l, "x.json", "all is pushed again")
				_, _, err = d.Load(t.Context())
				wrote := d.Change(t.Context(), add("y"))
				var damaged *ledger.DamagedError
				if !errors.As(err, &damaged) || !errors.As(wrote, &damaged) ||
					!strings.Contains(err.Error(), "mem://ledger/x.json") {
					t.Errorf("read: %v; written: %v", err, wrote)
				}
			})
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
