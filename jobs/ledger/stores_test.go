package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/civil"

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
			key := fmt.Sprintf("tables/installs/history/%06d.json", round+1)
			won := make([]bool, len(clients))
			content := func(i int) string { return strings.Repeat(string(rune('a'+i)), 100+round*10_000) }
			var wg sync.WaitGroup
			for i, l := range clients {
				wg.Go(func() {
					var err error
					if won[i], err = l.CreateOnce(t.Context(), key, content(i)); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			got, err := ReadOnce[string](t.Context(), clients[0], key, "")
			check(t, err)
			winners := 0
			for i := range clients {
				if won[i] {
					winners++
					if got != content(i) {
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
			lease, err := table.Begin(ctx, "run "+name, []civil.Date{record(i, "").Partition})
			check(t, err)
			again, err := l.Table(ctx, name)
			check(t, err)
			var held *HeldError
			if _, err := again.Begin(ctx, "other", []civil.Date{record(i, "").Partition}); !errors.As(err, &held) ||
				held.Run != "run "+name {
				t.Errorf("%s: a second lease: %v", name, err)
			}
			check(t, lease.End(ctx))
			check(t, again.Refresh(ctx))
			keys, err := l.list(ctx, "tables/"+name+"/")
			check(t, err)
			if got := again.Sorted(); len(got) != 1 || got[0].Run != "b" || len(keys) != 1 {
				t.Errorf("%s: %+v, objects %q", name, got, keys)
			}
		}
	})
}
