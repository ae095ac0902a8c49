package outbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func (r *rig) ordered(name, order string, m *memo) Task[string] {
	p := r.push(name, m)
	p.Order, p.Tally = order, nil
	return p
}

// sentByID compares what arrived, ID by ID: between them any order is right.
func (r *rig) sentByID(want string) {
	r.t.Helper()
	by := func(sent string) map[string][]string {
		lines := map[string][]string{}
		for line := range strings.SplitSeq(sent, ", ") {
			ids, _, _ := strings.Cut(line, " ")
			for id := range strings.SplitSeq(ids, "+") {
				lines[id] = append(lines[id], line)
			}
		}
		return lines
	}
	if got := r.service.take(); !maps.EqualFunc(by(got), by(want), slices.Equal) {
		r.t.Errorf("sent %q, want %q", got, want)
	}
}

// Each row of an ID is sent, in order, also when it equals an earlier one. A file that is pushed
// again sends nothing.
func TestOrder(t *testing.T) {
	r := newRig(t)
	m := lines("a out\nb out\na in\na out\n#\nb out")
	r.want(r.do(r.ordered("1", "2026-01-01", m)).File, "5 accepted, 1 refused, ended")
	r.sentByID("a out, a in, a out, b out, b out")
	m.version = "copied"
	if report := r.do(r.ordered("1", "2026-01-01", m)); !report.Same {
		t.Errorf("%+v", report)
	}
	r.sent("")
	r.want(r.do(r.ordered("2", "2026-01-02", lines("a out\nb out"))).File, "2 accepted, ended")
	r.sent("a out, b out")
}

// A file that has grown sends what is new of it. An ID whose rows have changed otherwise is sent
// from its first row on.
func TestOrderChanged(t *testing.T) {
	r := newRig(t)
	m := lines("a 1\nb 1\na 2\nc 1\nc 2\nd 1\nd 2")
	r.do(r.ordered("f", "1", m))
	r.service.take()
	m.lines, m.version = strings.Split("b 1\na 1\na 2\nb 2\na 3\nc 2\nd 1", "\n"), "2"
	report := r.do(r.ordered("f", "1", m))
	r.want(report.File, "4 accepted, 3 duplicates, ended")
	r.sent("b 2, a 3, c 2, d 1")
	m.lines, m.version = append(m.lines, "b 1", "d 1"), "3"
	r.want(r.do(r.ordered("f", "1", m)).File, "2 accepted, 7 duplicates, ended")
	r.sent("b 1, d 1")
}

// A file that comes after one of a later day doesn't override that one's records.
func TestOrderLate(t *testing.T) {
	r := newRig(t)
	r.do(r.ordered("2", "2026-01-02", lines("a new\nb new")))
	r.service.take()
	early := r.ordered("1", "2026-01-01", lines("a past\nc past\na passed"))
	early.Conflict = Rejection{"", "a later file had this one"}
	r.want(r.do(early).File, "1 accepted, 2 conflicts, ended")
	r.sent("c past")
	r.rejected("1.rejects.csv", "1,,a later file had this one,a past\n3,,a later file had this one,a passed")
	same := r.ordered("3", "2026-01-02", lines("a newer"))
	r.want(r.do(same).File, "1 accepted, ended")
	early = r.ordered("0", "2026-01-01", lines("a past"))
	early.SendConflicts = true
	r.want(r.do(early).File, "1 accepted, ended")
	r.sent("a newer, a past")
}

// A record in doubt that waits for a person holds up those of its ID, in this file and in later
// ones, and no others.
func TestOrderParked(t *testing.T) {
	r := newRig(t)
	r.service.say = func(line string, times int) error {
		if line == "a 1" && times == 1 {
			return ErrUnknown
		}
		return nil
	}
	first := r.ordered("1", "1", lines("a 1\nb 1\na 2\nb 2"))
	first = r.parked(first)
	r.want(r.do(first).File, "1 pending, 2 accepted, 1 unknown, open")
	second := r.ordered("2", "2", lines("b 3\na 3\na 4"))
	second = r.parked(second)
	r.want(r.do(second).File, "2 pending, 1 accepted, open")
	last := r.ordered("1b", "1", lines("a 2.5"))
	last = r.parked(last)
	r.want(r.do(last).File, "1 pending, open")
	r.sent("a 1, b 1, b 2, b 3")
	r.Outbox = r.open()
	r.want(r.do(first).File, "1 pending, 2 accepted, 1 unknown, open")
	r.sent("")
	if n, err := r.Requeue(t.Context(), ""); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	r.want(r.do(first).File, "4 accepted, 1 doubtful, ended")
	r.want(r.do(last).File, "1 accepted, ended")
	r.want(r.do(second).File, "3 accepted, ended")
	r.sent("a 1, a 2, a 2.5, a 3, a 4")
}

// The last record of an ID is in doubt: its file is over, and later files' records of it wait all
// the same. All of it happens in one moment of the bubble's clock.
func TestOrderParkedAtTheEnd(t *testing.T) { synctest.Test(t, orderParkedAtTheEnd) }

func orderParkedAtTheEnd(t *testing.T) {
	r := newRig(t)
	r.service.say = func(string, int) error { return ErrUnknown }
	first := r.ordered("1", "1", lines("a 1"))
	first = r.parked(first)
	r.want(r.do(first).File, "1 unknown, ended")
	r.service.say = nil
	second := r.ordered("2", "2", lines("a 2\nb 2"))
	r.want(r.do(second).File, "1 pending, 1 accepted, open")
	first = r.ordered("1", "1", lines("a 1\na 1.5"))
	first.Source.(*memo).version = "2"
	r.want(r.do(first).File, "2 accepted, 1 doubtful, ended")
	r.want(r.do(second).File, "2 accepted, ended")
	r.sent("a 1, b 2, a 1, a 1.5, a 2")
}

// A record whose answers are all lost is given up for this run, and the others of its ID with it;
// the file isn't over.
func TestOrderGivenUp(t *testing.T) {
	r := newRig(t)
	down := true
	r.service.say = func(line string, _ int) error {
		if down && line[0] != 'b' {
			return ErrUnknown
		}
		return nil
	}
	p := r.ordered("1", "1", lines("a 1\nb 1\na 2\nb 2\nc 1"))
	report, err := doFile(t.Context(), r.Outbox, p)
	if err == nil || !strings.Contains(err.Error(),
		"2 records were sent, and nothing says whether the service has them") {
		t.Error(err)
	}
	r.want(report.File, "1 pending, 2 accepted, 2 unknown, 2 doubtful, open")
	if r.service.got["a 2"] > 0 || r.service.got["a 1"] != tries {
		t.Error(r.service.got)
	}
	down = false
	r.service.take()
	r.want(r.do(p).File, "5 accepted, 2 doubtful, ended")
	r.sentByID("a 1, a 2, c 1")

	var text []string // when nothing is answered, the file is left before all of it is tried
	for i := range 200 {
		text = append(text, fmt.Sprintf("d%d 1", i))
	}
	down = true
	p = r.ordered("2", "1", lines(strings.Join(text, "\n")))
	if _, err := doFile(t.Context(), r.Outbox, p); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	if n := len(r.service.got); n > 5+2*mostDoubts {
		t.Errorf("%d records were tried", n)
	}
}

// One that is slow holds up its own ID alone.
func TestOrderSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var text []string
		for i := range 400 {
			text = append(text, fmt.Sprintf("%c %d", 'a'+i%8, i))
		}
		over := make(chan Report)
		r.service.say = func(line string, _ int) error {
			if line == "a 0" {
				r.service.mu.Unlock()
				time.Sleep(time.Hour)
				r.service.mu.Lock()
			}
			return nil
		}
		go func() {
			p := r.ordered("1", "1", lines(strings.Join(text, "\n")))
			p.InFlight = 4
			over <- r.do(p)
		}()
		time.Sleep(59 * time.Minute)
		if n := len(strings.Split(r.service.take(), ", ")); n != 351 {
			t.Errorf("%d were sent meanwhile, want the first of a and the 350 of others", n)
		}
		r.want((<-over).File, "400 accepted, ended")
		if n := len(strings.Split(r.service.take(), ", ")); n != 49 {
			t.Errorf("%d were sent at the end", n)
		}
	})
}

// A file of one ID alone is sent one at a time, and is read no further ahead than the window.
func TestOrderOneID(t *testing.T) {
	r := newRig(t)
	var text []string
	for i := range 2000 {
		text = append(text, fmt.Sprintf("a %d", i))
	}
	m := lines(strings.Join(text, "\n"))
	var mu sync.Mutex
	sent, busy, ahead := int64(0), 0, int64(0)
	m.read = func(sending bool, row int64) {
		mu.Lock()
		defer mu.Unlock()
		if sending {
			ahead = max(ahead, row-sent)
		}
	}
	p := r.ordered("1", "1", m)
	p.InFlight = 16
	p.Send = func(_ context.Context, line string) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		if busy++; busy > 1 || line != fmt.Sprintf("a %d", sent) {
			t.Errorf("%s is sent as number %d of %d at once", line, sent, busy)
		}
		sent++
		mu.Unlock()
		mu.Lock()
		busy--
		return 0, nil
	}
	r.options.ReadAhead = 100
	r.want(r.do(p).File, "2000 accepted, ended")
	if ahead > 100+block+16 {
		t.Errorf("%d rows ahead", ahead)
	}
}

// A dawn is a simulated row of runs over files in their order. Lines are "id n", n counting the
// records of the ID from 1 in all files together, or "id+id n n" for a record about two.
type dawn struct {
	*night
	last    map[string]int // number of the last that arrived
	doubted map[string]int // number of the one whose answer was lost; 0: none
	park    bool
	wrong   []string
}

// TestDawns runs many, and looks at every arrival: none comes before the one before it is
// acknowledged, none after a later one, whatever was killed in between, and at the end the last
// that arrived of each ID is its last.
func TestDawns(t *testing.T) {
	dawns := 30
	if testing.Short() {
		dawns = 8
	}
	for i := range dawns {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			defer func() {
				if t.Failed() {
					t.Logf("seed %d", seed)
				}
			}()
			d := &dawn{night: &night{rig: newRig(t), rng: rand.New(rand.NewPCG(seed, 0))}, last: map[string]int{},
				doubted: map[string]int{}}
			d.service.say, d.service.got = d.say, map[string]int{}
			d.park = d.rng.IntN(3) == 0
			ids := 1 + d.rng.IntN(200)
			linked := []int{0, 0, 3, 30}[d.rng.IntN(4)] // one in so many records is about two
			counts := map[int]int{}
			write := func(m *memo, rows int) {
				for range rows {
					id := d.rng.IntN(ids)
					if d.rng.IntN(3) == 0 {
						id = 0 // a busy one
					}
					counts[id]++
					line := fmt.Sprintf("id%d %d", id, counts[id])
					if also := id ^ 1; linked > 0 && d.rng.IntN(linked) == 0 {
						if d.rng.IntN(20) == 0 {
							also = (id + 1 + d.rng.IntN(ids+2)) % (ids + 3)
						}
						if also != id {
							counts[also]++
							line = fmt.Sprintf("id%d+id%d %d %d", id, also, counts[id], counts[also])
						}
					}
					m.lines = append(m.lines, line)
				}
				m.version = fmt.Sprint(d.rng.Uint64())
			}
			for range 1 + d.rng.IntN(4) {
				m := &memo{age: time.Hour}
				write(m, d.rng.IntN(1200))
				d.files = append(d.files, m)
			}
			for run := range 15 {
				d.pushAll(t, false)
				if run == 5 {
					write(d.files[len(d.files)-1], d.rng.IntN(300)) // it grows
				}
			}
			d.calm(t)
			for id, n := range counts {
				if got := d.last[fmt.Sprintf("id%d", id)]; got != n {
					t.Errorf("the last that arrived of id%d is %d of %d", id, got, n)
				}
			}
			for _, m := range d.files {
				for _, line := range m.lines {
					if d.service.got[line] == 0 {
						t.Errorf("%s never arrived", line)
					}
				}
			}
			for _, w := range d.wrong[:min(5, len(d.wrong))] {
				t.Error(w)
			}
		})
	}
}

// about gives the numbers of a line by ID.
func about(line string) map[string]int {
	fields := strings.Fields(line)
	numbers := map[string]int{}
	for i, id := range strings.Split(fields[0], "+") {
		numbers[id], _ = strconv.Atoi(fields[1+i])
	}
	return numbers
}

// arrive looks at one arrival.
func (d *dawn) arrive(line string, lost bool) {
	for id, n := range about(line) {
		if n > d.last[id]+1 {
			d.wrong = append(d.wrong, fmt.Sprintf("%s arrives after %d of %s", line, d.last[id], id))
		}
		if open := d.doubted[id]; open > 0 && n > open {
			d.wrong = append(d.wrong, fmt.Sprintf("%s arrives while %d of %s is in doubt", line, open, id))
		}
		if n < d.last[id] {
			d.wrong = append(d.wrong, fmt.Sprintf("%s arrives after %d of %s: a step back", line, d.last[id], id))
		}
		d.last[id] = n
		if lost {
			d.doubted[id] = n
		} else if d.doubted[id] >= n {
			d.doubted[id] = 0
		}
	}
}

func (d *dawn) say(line string, _ int) error {
	d.mu.Lock()
	luck := d.rng.IntN(3000)
	if d.frozen {
		d.service.got[line]--
		d.mu.Unlock()
		d.service.mu.Unlock()
		<-d.buried
		d.service.mu.Lock()
		return ErrUnknown
	}
	defer d.mu.Unlock()
	switch {
	case luck < 40:
		d.arrive(line, true)
		return ErrUnknown
	case luck < 80: // it didn't arrive
		d.service.got[line]--
		for id := range about(line) {
			d.doubted[id] = d.last[id] + 1
		}
		return ErrUnknown
	case luck < 83:
		d.service.got[line]--
		return errDown
	case luck < 120:
		d.arrive(line, false)
		return &Rejection{"", "no"}
	case luck < 122:
		d.stop()
	case luck < 126 && d.dead != nil:
		d.frozen = true
		close(d.dead)
	}
	d.arrive(line, false)
	return nil
}

// pushAll pushes the files in their order, until the process dies.
func (d *dawn) pushAll(t *testing.T, calm bool) {
	d.Outbox = d.open()
	d.options.ReadAhead, d.options.Flush = 8+d.rng.IntN(100), 5*time.Millisecond
	if d.park && d.rng.IntN(3) == 0 || calm {
		if _, err := d.Requeue(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	for i, m := range d.files {
		ctx, stop := context.WithCancel(t.Context())
		d.mu.Lock()
		d.stop, d.dead, d.buried, d.frozen = stop, make(chan struct{}), make(chan struct{}), false
		d.mu.Unlock()
		p := d.ordered(fmt.Sprint(i), fmt.Sprintf("%03d", i/2), m)
		p.InFlight = 1 + d.rng.IntN(6)
		if d.park && !calm {
			p = d.parked(p)
		}
		over := make(chan error, 1)
		go func() {
			_, err := doFile(ctx, d.Outbox, p)
			over <- err
		}()
		select {
		case err := <-over:
			close(d.buried)
			stop()
			if err != nil && (calm || !errors.Is(err, errDown) && !errors.Is(err, ErrUnknown) &&
				!errors.Is(err, context.Canceled)) {
				t.Fatal(err)
			}
		case <-d.dead:
			survivor := d.bury()
			stop()
			close(d.buried)
			<-over //nolint:errcheck // it is dead
			d.memory = survivor
			clear(d.doubted) // what it knew of answers is lost, and all of it is in doubt
			return
		}
	}
}

func (d *dawn) calm(t *testing.T) {
	d.service.mu.Lock()
	d.service.say = func(line string, _ int) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.arrive(line, false)
		return nil
	}
	d.service.mu.Unlock()
	d.pushAll(t, true)
	files, err := d.Files(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, f := range files {
		if !seen[f.Name] && (f.Open() || f.Pending+f.Unknown > 0) {
			t.Errorf("%+v", f)
		}
		seen[f.Name] = true
	}
	if !slices.Equal(d.wrong, nil) {
		t.Errorf("%d arrivals are wrong", len(d.wrong))
	}
}
