package outbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/jobs/outbox/store"
)

// A night is a simulated row of runs over a few files that share records, with a service and a
// process that fail.
type night struct {
	*rig
	rng    *rand.Rand
	files  []*memo
	lines  map[string][]string // by version
	mu     sync.Mutex
	frozen bool          // the process is dead: what it sends isn't sent
	dead   chan struct{} // closed then
	buried chan struct{} // closed when its bucket has been copied
	stop   context.CancelFunc
}

// TestNights runs many nights and compares what arrived with what must have: nothing is lost,
// nothing is sent twice unless it was in doubt, and no record is sent with two contents.
func TestNights(t *testing.T) {
	nights := 60
	if testing.Short() {
		nights = 15
	}
	for i := range nights {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			defer func() {
				if t.Failed() {
					t.Logf("seed %d", seed)
				}
			}()
			n := &night{lines: map[string][]string{}, rig: newRig(t), rng: rand.New(rand.NewPCG(seed, 0))}
			n.service.say = n.say
			n.service.got = map[string]int{}
			ids := 20 + n.rng.IntN(1500)
			for range 1 + n.rng.IntN(4) {
				n.files = append(n.files, n.file(ids))
			}
			for range 30 {
				n.run(ids)
			}
			n.calm()
			n.compare()
		})
	}
}

func (n *night) file(ids int) *memo {
	m := &memo{version: fmt.Sprint(n.rng.Uint64()), age: time.Hour}
	for range n.rng.IntN(1500) {
		content := 1
		if n.rng.IntN(50) == 0 {
			content = 2
		}
		line := fmt.Sprintf("id%d %d", n.rng.IntN(ids), content)
		if n.rng.IntN(40) == 0 {
			line = "# no"
		}
		m.lines = append(m.lines, line)
	}
	n.lines[m.version] = m.lines
	return m
}

// say is the service on a bad night. The receiver has counted the line already.
func (n *night) say(line string, _ int) error {
	n.mu.Lock()
	luck := n.rng.IntN(3000)
	if n.frozen {
		n.service.got[line]--
		n.mu.Unlock()
		n.service.mu.Unlock() // others come here meanwhile
		<-n.buried
		n.service.mu.Lock()
		return ErrUnknown
	}
	defer n.mu.Unlock()
	switch {
	case luck < 40:
		return ErrUnknown
	case luck < 80:
		n.service.got[line]--
		return fmt.Errorf("lost: %w", ErrUnknown)
	case luck < 83:
		n.service.got[line]--
		return errDown
	case luck < 85:
		n.stop()
	case luck < 88 && n.dead != nil:
		n.frozen = true
		close(n.dead)
	}
	return nil
}

// run pushes one of the files, which may have changed, until the end or until something happens.
func (n *night) run(ids int) {
	name := n.rng.IntN(len(n.files))
	if n.rng.IntN(12) == 0 {
		m := n.file(ids)
		m.lines = append(m.lines, n.files[name].lines...)
		n.files[name], n.lines[m.version] = m, m.lines
	}
	ctx, stop := context.WithCancel(n.t.(*testing.T).Context())
	defer stop()
	n.mu.Lock()
	n.stop, n.dead, n.buried, n.frozen = stop, make(chan struct{}), make(chan struct{}), false
	n.mu.Unlock()
	n.Outbox = n.open()
	n.options.ReadAhead, n.options.Flush = 8+n.rng.IntN(100), 5*time.Millisecond
	p := n.push(fmt.Sprint(name), n.files[name])
	p.InFlight = 1 + n.rng.IntN(6)
	over := make(chan error, 1)
	go func() {
		_, err := doFile(ctx, n.Outbox, p)
		over <- err
	}()
	var err error
	select {
	case err = <-over:
		close(n.buried)
	case <-n.dead:
		survivor := n.bury()
		stop()
		close(n.buried)
		<-over //nolint:errcheck // it is dead
		n.memory = survivor
	}
	if err != nil && !errors.Is(err, errDown) && !errors.Is(err, ErrUnknown) && !errors.Is(err, context.Canceled) {
		n.t.Fatal(err)
	}
}

// bury copies the ledger as the dead process left it. By the clock of the copy its lease is over.
func (n *night) bury() *bucket.Memory {
	ctx, from := context.Background(), n.memory.Open()
	now := n.memory.Now
	if now == nil {
		now = time.Now
	}
	survivor := &bucket.Memory{Now: func() time.Time { return now().Add(2 * time.Minute) }}
	document, _, err := from.Get(ctx, "pushes/spend.json") // first: what it tells of was there before
	if err != nil {
		n.t.Fatal(err)
	}
	objects, err := from.List(ctx, "pushes/spend/")
	if err != nil {
		n.t.Fatal(err)
	}
	copied := map[string][]byte{"pushes/spend.json": document}
	for _, o := range objects {
		if copied[o.Key], _, err = from.Get(ctx, o.Key); err != nil {
			n.t.Fatal(err)
		}
	}
	for key, data := range copied {
		if _, err := survivor.Open().Put(ctx, key, data, bucket.Condition{}); err != nil {
			n.t.Fatal(err)
		}
	}
	return survivor
}

// calm pushes all files to their end.
func (n *night) calm() {
	n.service.mu.Lock()
	n.service.say = nil
	n.service.mu.Unlock()
	for i, m := range n.files {
		n.Outbox = n.open()
		report := n.do(n.push(fmt.Sprint(i), m))
		if report.Open() || report.Pending+report.Unknown > 0 {
			n.t.Fatalf("%+v", report)
		}
	}
	files, err := n.Summed(context.Background())
	if err != nil {
		n.t.Fatal(err)
	}
	for _, f := range files {
		sum := int64(0)
		for _, s := range f.Sums {
			sum += s.Records
		}
		if sum != f.Accepted {
			n.t.Errorf("sums have %d records of %d", sum, f.Accepted)
		}
	}
}

func (n *night) compare() {
	t := n.t.(*testing.T)
	contents := map[string]int{}
	for line, times := range n.service.got {
		if times > 0 {
			id, _, _ := strings.Cut(line, " ")
			contents[id]++
		}
	}
	for id, different := range contents {
		if different > 1 {
			t.Errorf("%s was sent with %d contents", id, different)
		}
	}
	pushes, err := n.table.Pushes(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	doubtful := map[string]bool{}
	for _, p := range pushes {
		fates := p.States
		for i, line := range n.lines[p.Head.Version] {
			s := fates.Get(int64(i) + 1)
			doubtful[line] = doubtful[line] || s&store.Doubt != 0 || s == store.Unknown
		}
	}
	for i, m := range n.files {
		var last *store.Push
		for _, p := range pushes {
			if p.Head.Name == fmt.Sprint(i) && p.Head.Version == m.version {
				last = p
			}
		}
		fates := last.States
		for j, line := range m.lines {
			s := fates.Get(int64(j) + 1)
			id, _, _ := strings.Cut(line, " ")
			switch {
			case line == "# no":
				if s != store.Refused {
					t.Errorf("file %d row %d is %d", i, j+1, s)
				}
			case s == store.Conflict && contents[id] == 1 && n.service.got[line] == 0:
			case n.service.got[line] == 0:
				t.Errorf("file %d row %d (%s) is %d and never arrived", i, j+1, line, s)
			case s&^store.Doubt != store.Accepted && s&^store.Doubt != store.Duplicate:
				t.Errorf("file %d row %d (%s) is %d", i, j+1, line, s)
			}
		}
	}
	for line, times := range n.service.got {
		if times > 1 && !doubtful[line] {
			t.Errorf("%s arrived %d times and isn't in doubt", line, times)
		}
	}
}
