package simulation

import (
	"container/heap"
	"fmt"
	"hash"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/cryptotest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// epoch is the world's time zero, by the store's clock.
var epoch = time.Date(2025, 11, 8, 23, 52, 0, 0, time.UTC)

// A world is one simulation: two stores, a service, processes, and what happens to them, all drawn
// from one seed.
type world struct {
	t    *testing.T
	seed uint64
	dice *rand.Rand
	fate fate

	now   time.Duration
	tick  int64 // orders what happens at one time
	queue events
	calls int

	ledger, lake *store
	truth        *truth
	running      *process // whose bubble isn't at rest
	writer       *process // whose request a store is looking at
	born         int

	watch   *watch
	books   history
	annals  annals
	stats   stats
	trace   hash.Hash64
	lines   []string // of the trace, when somebody wants to read it
	keep    bool
	late    []func() // writes that are applied after the clean run
	broken  string   // the first invariant that was violated
	details string
}

// An event is something that will happen at a time of the world.
type event struct {
	at   time.Duration
	nth  int
	do   func()
	void bool
}

type events struct {
	list []*event
	n    int
}

func (e *events) Len() int      { return len(e.list) }
func (e *events) Swap(i, j int) { e.list[i], e.list[j] = e.list[j], e.list[i] }
func (e *events) Push(x any)    { e.list = append(e.list, x.(*event)) }
func (e *events) Less(i, j int) bool {
	a, b := e.list[i], e.list[j]
	return a.at < b.at || a.at == b.at && a.nth < b.nth
}

func (e *events) Pop() any {
	last := e.list[len(e.list)-1]
	e.list = e.list[:len(e.list)-1]
	return last
}

func (w *world) at(when time.Duration, do func()) *event {
	w.queue.n++
	e := &event{at: max(when, w.now), nth: w.queue.n, do: do}
	heap.Push(&w.queue, e)
	return e
}

func (w *world) note(format string, args ...any) {
	line := fmt.Sprintf("%12.3f ", w.now.Seconds()) + fmt.Sprintf(format, args...)
	w.trace.Write([]byte(line + "\n"))
	if w.keep {
		w.lines = append(w.lines, line)
	}
}

// violate notes the first violation of an invariant. What comes after it may only follow from it.
func (w *world) violate(invariant, format string, args ...any) {
	if w.broken == "" {
		w.broken, w.details = invariant, fmt.Sprintf(format, args...)
		w.note("VIOLATED %s: %s", w.broken, w.details)
	}
}

func newWorld(t *testing.T, seed uint64, data *account, keep bool) *world {
	w := &world{
		t: t, seed: seed, dice: rand.New(rand.NewPCG(seed, 15)), ledger: newStore("ledger"),
		lake: newStore("lake"), trace: fnv.New64a(), keep: keep,
	}
	w.fate = drawFate(w.dice)
	w.truth = newTruth(w, data)
	w.watch = newWatch(w)
	w.books.world = w
	w.annals = annals{w, map[civil.Date][]ledger.Record{}}
	for _, s := range []*store{w.ledger, w.lake} {
		s.hashed, s.seconds = w.fate.hashed, w.fate.seconds
		s.changed = func(key string, o *object) { w.watch.changed(s, key, o) }
	}
	return w
}

// run lets everything happen, then nothing more, then one clean run.
func (w *world) run() {
	current = w
	w.note("seed %d %+v", w.seed, w.fate)
	for slot := range w.fate.slots {
		w.after(slot, 0)
	}
	for range w.fate.restatements {
		w.at(w.draw(w.fate.length), w.truth.restate)
	}
	w.happen()
	if w.broken != "" {
		return
	}
	w.now += 3 * 24 * time.Hour // beyond any lease, and any clock that is ahead
	w.note("all is quiet")
	w.fate = w.fate.calm()
	w.spawn("clean", func(p *process) { p.clean = true })
	w.happen()
	w.watch.equal("after the clean run")
	if w.fate.states {
		w.watch.derived("after the clean run")
	}
	for _, apply := range w.late {
		w.now += time.Minute
		apply()
	}
	w.watch.equal("after the last late writes")
	w.books.honest()
	w.books.check(w)
	w.bereave()
}

// bereave deletes a month that the index names. That is damage, and no reason to fetch everything
// again.
func (w *world) bereave() {
	o := w.ledger.objects[indexKey]
	if o == nil || w.broken != "" {
		return
	}
	month := slices.Sorted(maps.Keys(w.watch.open(o).Months))[0]
	w.note("%s is deleted", month)
	delete(w.ledger.objects, "tables/"+table+"/months/"+month+".json")
	w.spawn("bereft", func(p *process) { p.clean, p.bereft = true, true })
	w.happen()
}

func (w *world) happen() {
	for w.queue.Len() > 0 && w.broken == "" {
		e := heap.Pop(&w.queue).(*event)
		if e.void {
			continue
		}
		w.now = e.at
		e.do()
	}
	if w.broken != "" {
		w.bury()
	}
}

// bury ends the processes that are still alive, because their bubbles must end.
func (w *world) bury() {
	for _, e := range w.queue.list {
		e.void = true
	}
	for _, p := range w.watch.alive() {
		w.kill(p)
	}
}

func (w *world) draw(longest time.Duration) time.Duration {
	return time.Duration(w.dice.Int64N(int64(longest) + 1))
}

func (w *world) chance(p float64) bool { return w.dice.Float64() < p }

// after brings the next process of a slot to life, some time after the last one ended.
func (w *world) after(slot, nth int) {
	if nth >= w.fate.runs {
		return
	}
	w.at(w.now+w.draw(w.fate.pause), func() {
		p := w.spawn(fmt.Sprintf("p%d.%d", slot, nth), func(p *process) {
			p.page = []int{7, 30}[w.dice.IntN(2)]
			p.force, p.mute = w.chance(w.fate.force), w.chance(w.fate.mute)
			p.task = []string{"", fmt.Sprint("task ", slot), "the only task"}[w.fate.tasks]
			w.skew(p)
		})
		if p.over {
			w.after(slot, nth+1)
			return
		}
		p.next = func() { w.after(slot, nth+1) }
	})
}

// skew gives a process a clock of its own.
func (w *world) skew(p *process) {
	if w.chance(w.fate.skew) {
		p.jumps = append(p.jumps, jump{0, w.draw(40*time.Minute) - 20*time.Minute})
	}
	for w.chance(w.fate.skew) {
		p.jumps = append(p.jumps, jump{w.now + w.draw(w.fate.length/4), w.draw(20*time.Minute) - 15*time.Minute})
	}
}

func (w *world) spawn(name string, with func(*process)) *process {
	w.born++
	p := &process{
		world: w, name: name, nth: w.born, page: 7, birth: w.now, orders: make(chan order), reports: make(chan report),
		gone: make(chan struct{}), renewed: &call{ran: math.MinInt64 / 2},
	}
	with(p)
	w.note("%s begins: pages of %d, force %v, clock %v", name, p.page, p.force, p.jumps)
	w.watch.living[p] = true
	go func() {
		defer close(p.gone)
		p.live(w.t, p.work)
	}()
	w.let(p, order{})
	return p
}

// let lets a process go on after an order, until it can't without an answer or something else that
// will happen to it.
func (w *world) let(p *process, o order) {
	for {
		o.until = p.horizon(w.now)
		r := w.send(p, o)
		o.answer = nil
		w.notice(p)
		for _, c := range r.issued {
			w.issue(c, r.now)
		}
		if r.finished {
			w.end(p)
			return
		}
		if len(r.issued) == 0 && r.now >= p.horizon(w.now) {
			break
		}
	}
	if len(p.pending) == 0 && len(p.controls) == 0 { // it waits for a timer of its own
		w.control(p, p.horizon(w.now), func() { w.let(p, order{}) })
	}
}

func (w *world) send(p *process, o order) report {
	w.running = p
	p.orders <- o
	r := <-p.reports
	w.running = nil
	return r
}

// control is something that happens to a process.
func (w *world) control(p *process, at time.Duration, do func()) {
	var e *event
	e = w.at(at, func() {
		p.controls = slices.DeleteFunc(p.controls, func(o *event) bool { return o == e })
		if !p.over {
			do()
		}
	})
	p.controls = append(p.controls, e)
}

// end takes note of a process that is over.
func (w *world) end(p *process) {
	if p.over {
		return
	}
	p.over = true
	<-p.gone
	if !p.dead { // the dead end as their goroutines happen to
		w.note("%s ends: %s", p.name, p.outcome)
	}
	delete(w.watch.living, p)
	for _, c := range p.pending {
		w.abandon(c)
	}
	if p.next != nil {
		p.next()
	}
}

func (w *world) kill(p *process) {
	if p.over {
		return
	}
	w.stats.kills++
	w.note("%s is killed", p.name)
	w.send(p, order{kill: true})
	// The dead take as many random numbers as it happens.
	cryptotest.SetGlobalRandom(w.t, w.seed+uint64(w.stats.kills)<<32)
	w.end(p)
}

// suspend puts a process to sleep. What it is about to send may wait in its machine, or be on its
// way already.
func (w *world) suspend(p *process, by time.Duration) {
	if p.suspended {
		return
	}
	w.stats.suspensions++
	w.note("%s sleeps for %v", p.name, by.Round(time.Millisecond))
	p.suspended = true
	until := w.now + by
	for _, c := range p.pending {
		if c.waiting != nil && w.chance(0.5) {
			w.hold(c, until)
		}
		if c.answerAt < until {
			w.answerAt(c, until+w.draw(20*time.Millisecond))
		}
	}
	for _, e := range p.controls {
		if e.at < until {
			e.void = true
		}
	}
	p.controls = slices.DeleteFunc(p.controls, func(e *event) bool { return e.void })
	w.control(p, until, func() {
		w.note("%s wakes", p.name)
		p.suspended = false
		p.lag.Add(int64(by))
		w.let(p, order{})
	})
}

// String is the trace, as far as it was kept.
func (w *world) String() string { return strings.Join(w.lines, "\n") }
