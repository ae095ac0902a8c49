package icesink

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/reportferry/reportferry/sinks"
)

const day = "2026-01-31"

func mustPut(t testing.TB, s *Sink, parts ...sinks.Part) (r sinks.Receipt) {
	t.Helper()
	for _, p := range parts {
		var err error
		if r, err = s.Put(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// What others do to a table is told apart: who rewrites files leaves the rows to the put that they
// are of, and who changes rows makes them their own.
func TestWhatOthersDo(t *testing.T) {
	for name, c := range map[string]struct {
		do      func(t *testing.T, s *Sink)
		foreign bool
		unknown bool // which put it is can't be told any more
		holds   string
	}{
		"nothing":                   {do: func(*testing.T, *Sink) {}, holds: "a b"},
		"compaction":                {do: func(t *testing.T, s *Sink) { compact(t, s, day) }, holds: "a b"},
		"compaction of another day": {do: func(t *testing.T, s *Sink) { compact(t, s, "2026-01-30") }, holds: "a b"},
		"compaction twice": {do: func(t *testing.T, s *Sink) { compact(t, s, day); compact(t, s, day) },
			holds: "a b"},
		"a row for another day": {do: func(t *testing.T, s *Sink) { add(t, s, "2026-01-30"); compact(t, s, day) },
			holds: "a b"},
		"compaction, long ago": {do: func(t *testing.T, s *Sink) { compact(t, s, day); forget(t, s) },
			unknown: true, holds: "a b"},
		"snapshots removed": {do: func(t *testing.T, s *Sink) { forget(t, s) }, holds: "a b"},
		"a row added": {do: func(t *testing.T, s *Sink) { add(t, s, day) }, foreign: true,
			holds: "a b somebody's"},
		"a row added, long ago": {do: func(t *testing.T, s *Sink) { add(t, s, day); forget(t, s) }, foreign: true,
			holds: "a b somebody's"},
		"a row added, and compaction": {
			do: func(t *testing.T, s *Sink) { add(t, s, day); compact(t, s, day) }, foreign: true,
			holds: "a b somebody's",
		},
		"a row deleted, by a new file": {do: func(t *testing.T, s *Sink) { remove(t, s, "a") }, foreign: true,
			holds: "b"},
		"a row deleted, by a file beside": {do: func(t *testing.T, s *Sink) { mergeOnRead(t, s); remove(t, s, "a") },
			foreign: true, holds: "b"},
		"a row deleted, by a file, long ago": {do: func(t *testing.T,
			s *Sink) {
			mergeOnRead(t, s)
			remove(t, s, "a")
			forget(t, s)
		}, foreign: true, holds: "b"},
		"a row deleted after a compaction, long ago": {do: func(t *testing.T, s *Sink) {
			compact(t, s, day)
			mergeOnRead(t, s)
			remove(t, s, "a")
			compact(t, s, "2026-01-30") // the snapshot that stays
			forget(t, s)
		}, foreign: true, holds: "b"},
		"a column, and a property": {do: func(t *testing.T,
			s *Sink) {
			setProperty(t, s, "owner", "finance")
		}, holds: "a b"},
		"a branch that is rolled back and on": {do: func(t *testing.T, s *Sink) { add(t, s, day); rollBack(t, s, 1) },
			holds: "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openURL(t, newURL(t))
			mustPut(t, s, testPart("2026-01-30", "other"))
			put := mustPut(t, s, testPart(day, "a", "b"))
			c.do(t, s)
			at := date(day)
			if got := ofDay(t, s, day); got != c.holds {
				t.Errorf("a reader finds %q, want %q", got, c.holds)
			}
			over, err := s.ConditionOf(t.Context(), "installs", at, true)
			if foreign := errors.Is(err, sinks.ErrForeign); foreign != c.foreign || err != nil && !foreign {
				t.Errorf("a look at what should be ours: %v", err)
			}
			if err == nil && !c.unknown && over.Version != put.Version {
				t.Errorf("the version is %s, and was put as %s", over.Version, put.Version)
			}
			o := listed(t, s, put.Key)
			switch same := o.Version == put.Version && o.Size == put.Size; {
			case c.unknown && o.Version != "", c.foreign && (o.Version == "" || same), !c.unknown && !c.foreign &&
				!same:
				t.Errorf("listed is %+v, and put was %+v", o, put)
			}

			// What the ledger knows may be replaced, unless somebody has made it theirs; and then
			// what was looked at may.
			next := testPart(day, "next")
			next.Over.Version = put.Version
			_, err = s.Put(t.Context(), next)
			if conflict := errors.Is(err, sinks.ErrConflict); conflict != c.foreign || err != nil && !conflict {
				t.Errorf("a put over what the ledger knows: %v", err)
			}
			if err != nil {
				if next.Over, err = s.ConditionOf(t.Context(), "installs", at, false); err != nil {
					t.Fatal(err)
				}
				mustPut(t, s, next)
			}
			file, err := s.Read(t.Context(), "installs", at)
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(file)
			if err != nil || len(content) < 100 || string(content[:4]) != "PAR1" {
				t.Errorf("%d bytes are read back: %v", len(content), err)
			}
			if err := file.Close(); err != nil {
				t.Error(err)
			}
			late := testPart(day, "late")
			late.Over.Version = put.Version
			if _, err := s.Put(t.Context(), late); !errors.Is(err, sinks.ErrConflict) {
				t.Errorf("a put over what was replaced: %v", err)
			}
		})
	}
}

func mergeOnRead(t *testing.T, s *Sink) { setProperty(t, s, "write.delete.mode", "merge-on-read") }

func listed(t *testing.T, s *Sink, key string) sinks.Object {
	t.Helper()
	list, err := s.List(t.Context(), "installs")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list {
		if o.Key == key {
			return o
		}
	}
	t.Fatalf("%s isn't among the %d that are listed", key, len(list))
	return sinks.Object{}
}

// A table that was rolled back to an earlier put holds what that put did.
func TestRolledBack(t *testing.T) {
	s := openURL(t, newURL(t))
	first := mustPut(t, s, testPart(day, "first"))
	mustPut(t, s, testPart(day, "second"))
	rollBack(t, s, 1)
	if o := listed(t, s, first.Key); o.Version != first.Version {
		t.Errorf("listed is %+v, and put was %+v", o, first)
	}
	if got := held(t, s); got != "first" {
		t.Errorf("a reader finds %s", got)
	}
}

// A day to which somebody else has added rows, and nothing was put, is listed, and theirs.
func TestSomebodysDay(t *testing.T) {
	s := openURL(t, newURL(t))
	mustPut(t, s, testPart(day, "a"))
	add(t, s, "2026-02-11")
	list, err := s.List(t.Context(), "installs")
	if err != nil || len(list) != 2 || list[1].Key != "installs/dt=2026-02-11" {
		t.Errorf("listed are %+v: %v", list, err)
	}
	if _, err := s.ConditionOf(t.Context(), "installs", date("2026-02-11"), true); !errors.Is(err, sinks.ErrForeign) {
		t.Errorf("a look at somebody's day: %v", err)
	}
}

// What a process remembers of a table after its own commits doesn't count against what others have
// put since.
func TestAnotherProcessPuts(t *testing.T) {
	u := newURL(t)
	one, other := openURL(t, u), openURL(t, u)
	put := func(s *Sink, campaign string, over sinks.Condition) sinks.Receipt {
		t.Helper()
		p := testPart(day, campaign)
		p.Over = over
		return mustPut(t, s, p)
	}
	first := put(one, "first", sinks.Condition{Absent: true})
	second := put(other, "second", sinks.Condition{Version: first.Version})
	third := put(one, "third", sinks.Condition{Version: second.Version})
	put(other, "fourth", sinks.Condition{Version: third.Version})
	if got := held(t, one); got != "fourth" {
		t.Errorf("a reader finds %s", got)
	}
}

// Of many tables, what was remembered of the first ones is forgotten, and they can be put to all
// the same.
func TestManyTables(t *testing.T) {
	s := openURL(t, newURL(t))
	for round := range 2 {
		for i := range 2 * mostCached {
			p := testPart(day, "a")
			p.Table = fmt.Sprint("installs", i)
			mustPut(t, s, p)
		}
		if n := len(s.caching); n != mostCached {
			t.Errorf("round %d: %d tables are remembered", round, n)
		}
	}
	known := 0
	for _, c := range s.tables {
		if c.cached() != nil {
			known++
		}
	}
	if known != mostCached {
		t.Errorf("%d tables are known", known)
	}
}

// A table that was dropped and made again between a put's file and its commit is another table, for
// which the file wasn't made.
func TestMadeAgain(t *testing.T) {
	u := newURL(t)
	s, other := openURL(t, u), openURL(t, u)
	mustPut(t, s, testPart("2026-01-30", "first"))
	part := testPart(day, "late")
	part.Over.Absent = true
	p := &put{ctx: t.Context(), at: place{"installs", date(day)}, part: part, over: part.Over,
		stamp: stamp{rand.Text(), part.Size}, done: make(chan error, 1), sent: map[int64]bool{}}
	if err := s.prepare(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	c, err := other.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.DropTable(t.Context(), other.identifier("installs")); err != nil {
		t.Fatal(err)
	}
	mustPut(t, other, testPart("2026-01-30", "made again"))
	s.committer("installs").setCached(nil)
	s.committer("installs").add(p)
	if err := <-p.done; !errors.Is(err, sinks.ErrConflict) {
		t.Errorf("a put into the table that was made again: %v", err)
	}
	if got := held(t, other); got != "made again" {
		t.Errorf("a reader finds %s", got)
	}
}
