package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/bucket"
)

// A place is an empty bucket, or a folder of one.
type place struct {
	url    string                     // by which other processes open it; empty when they can't
	rounds int                        // of a race there
	open   func(t *testing.T) *Ledger // another client of it
}

// everyLedger is everyPlace for tests of one client.
func everyLedger(t *testing.T, test func(*testing.T, *Ledger)) {
	everyPlace(t, func(t *testing.T, p place) { test(t, p.open(t)) })
}

func placeAt(url string, rounds int) place {
	return place{url: url, rounds: rounds, open: func(t *testing.T) *Ledger {
		t.Helper()
		l, err := openURL(t.Context(), url)
		check(t, err)
		t.Cleanup(func() { check(t, l.Close()) })
		return l
	}}
}

func openURL(ctx context.Context, url string) (*Ledger, error) {
	b, err := bucket.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	return Open(Options{Store: b, URL: url}), nil
}

// Of many clients that create one object, one wins, and it is the winner's that is there.
func TestOneCreates(t *testing.T) {
	everyPlace(t, func(t *testing.T, p place) {
		var clients []*Ledger
		for range 8 {
			clients = append(clients, p.open(t))
		}
		for round := range 10 {
			key := fmt.Sprintf("tables/installs/swept/%06d.json", round+1)
			won := make([]bool, len(clients))
			content := func(i int) []byte { return bytes.Repeat([]byte{byte('a' + i)}, 100+round*10_000) }
			var wg sync.WaitGroup
			for i, l := range clients {
				wg.Go(func() {
					err := l.create(t.Context(), key, content(i))
					if won[i] = err == nil; err != nil && !errors.Is(err, errExists) {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			got, err := clients[0].get(t.Context(), key)
			check(t, err)
			winners := 0
			for i := range clients {
				if won[i] {
					winners++
					if got != string(content(i)) {
						t.Errorf("round %d: client %d has won, and what is there isn't its own", round, i)
					}
				}
			}
			if winners != 1 {
				t.Errorf("round %d: %d winners", round, winners)
			}
		}
	})
}

// Names are a part of keys, and a store's protocol has its own ideas of some characters.
func TestNames(t *testing.T) {
	everyLedger(t, func(t *testing.T, l *Ledger) {
		for i, name := range []string{"installs t\u00e4glich", "\u65e5\u672c", "a+b & c=d", "50%25 off #1?"} {
			ctx := t.Context()
			table, err := l.Table(ctx, name)
			check(t, err)
			check(t, table.Commit(ctx, record(i, "a")))
			check(t, table.Commit(ctx, record(i, "b")))
			c, err := l.Claim(ctx, name, "unit "+name, "run", time.Minute)
			check(t, err)
			var held *HeldError
			if _, err := l.Claim(ctx, name, "unit "+name, "other", time.Minute); !errors.As(err, &held) || held.Run != "run" {
				t.Errorf("%s: a second claim: %v", name, err)
			}
			check(t, c.Release(ctx))
			check(t, table.sweep(ctx, 0))
			again, err := l.Table(ctx, name)
			check(t, err)
			keys, err := l.list(ctx, "tables/"+name+"/")
			check(t, err)
			if got := again.Sorted(); len(got) != 1 || got[0].Run != "b" || len(keys) != 2 {
				t.Errorf("%s: %+v, objects %q", name, got, keys)
			}
		}
	})
}
