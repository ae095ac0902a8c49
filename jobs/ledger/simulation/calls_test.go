package simulation

import (
	"slices"
	"strings"
	"time"
)

const lasting = 2 * time.Minute

// A fate says how much goes wrong in a world. Each seed draws another one. Most kinds of harm are
// absent from many worlds, because harm that is always there hides what it prevents.
type fate struct {
	slots, runs, days, restatements int
	length, pause                   time.Duration
	sluggish, dawdle                time.Duration // the longest that a slow call takes, and an answer of the service
	history, unindexed              int           // as the ledger's options have them
	states                          bool          // a run writes the tables that say how its table is

	kill, suspend      float64 // at a call
	force, skew        float64 // of a process
	slow               float64 // of a call: seconds instead of milliseconds
	silent, deaf       float64 // of a call: it never reaches the store, or its answer never comes back
	resent, twin, late float64 // of a write: asked twice; once more, long after its answer; applied when nobody waits
	torn               float64 // of a part: its file can't be read to the end
	conflict           float64 // of a conditional write: another one is on its way, says the store
	emptied, returned  float64 // of a restatement: no rows; as it was two before
	mute               float64 // of a process: its renewals seldom arrive
	hashed, seconds    bool    // ETags by content, times in seconds
	// Of processes: none, each slot's own, or one, whose leases keep nobody away: the stores alone
	// keep data safe.
	tasks int
}

func drawFate(dice interface {
	IntN(int) int
	Float64() float64
}) fate {
	rate := func(most float64) float64 { // absent in a third of the worlds
		return max(0, 1.5*dice.Float64()-0.5) * most
	}
	return fate{
		slots: 2 + dice.IntN(3), runs: 1 + dice.IntN(3), days: 2 + dice.IntN(5), restatements: dice.IntN(12),
		length: 20 * time.Minute, pause: time.Duration(1+dice.IntN(300)) * time.Second,
		kill: rate(0.01), suspend: rate(0.02), force: rate(0.7), skew: rate(0.5), slow: rate(0.2),
		sluggish: []time.Duration{4 * time.Second, 4 * time.Second, 45 * time.Second}[dice.IntN(3)],
		dawdle:   []time.Duration{30 * time.Second, 30 * time.Second, 5 * time.Minute}[dice.IntN(3)],
		history:  []int{0, 1, 1, 2000, 4000}[dice.IntN(5)], unindexed: dice.IntN(3), mute: rate(0.5),
		states: dice.IntN(4) == 0,
		silent: rate(0.02), deaf: rate(0.03), resent: rate(0.1), twin: rate(0.3), late: rate(0.1), conflict: rate(0.02),
		torn:    rate(0.05),
		emptied: rate(0.4), returned: rate(0.9),
		hashed: dice.IntN(2) == 0, seconds: dice.IntN(2) == 0, tasks: dice.IntN(3),
	}
}

// calm is the same world when nothing happens any more.
func (f fate) calm() fate {
	return fate{days: f.days, length: f.length, dawdle: f.dawdle, hashed: f.hashed, seconds: f.seconds,
		history: f.history, unindexed: f.unindexed, states: f.states}
}

// weight is how often something happens at a call: more often at those on which much depends.
func (c *call) weight() float64 {
	switch {
	case c.writes() && (c.store == c.process.world.lake || strings.Contains(c.key, "/months/") ||
		strings.Contains(c.key, "/history/")):
		return 4
	case c.op == "create", c.op == "ask":
		return 3
	case c.op == "put":
		return 1
	}
	return 0.5
}

// issue sends a call on its way, and draws what becomes of it.
func (w *world) issue(c *call, at time.Duration) {
	p := c.process
	w.calls++
	w.tick++
	c.nth, c.at, c.tick = w.calls, at, w.tick
	c.wall, c.ran = p.clocks(at)
	p.pending = append(p.pending, c)
	w.watch.issued(c)
	arrival := at + w.latency()
	answer := arrival + w.latency()
	if c.op == "ask" {
		arrival, answer = at+w.draw(3*time.Second), at+3*time.Second+w.draw(w.fate.dawdle)
	}
	how := ""
	switch write := c.writes(); {
	case c.store == nil:
	case w.chance(w.fate.silent), p.mute && p.working && !c.publishing && isMonth(c.key) && w.chance(0.8):
		how, c.lost, arrival, answer = " never arrives", true, -1, at+w.draw(20*time.Second)
	case w.chance(w.fate.deaf):
		how, c.lost, answer = " isn't answered", true, arrival+w.draw(20*time.Second)
	case write && w.chance(w.fate.resent):
		how = " is sent again"
		w.arrive(c, arrival, false)
		arrival += time.Second + w.draw(4*time.Second)
		answer = arrival + w.latency()
	case write && w.chance(w.fate.twin):
		how = " has a late twin"
		w.linger(c)
	case write && w.chance(w.fate.late):
		how, c.lost, arrival, answer = " is late", true, -1, at+time.Second+w.draw(20*time.Second)
		w.linger(c)
	}
	w.note("%s %d %s %s%s%s at %.3f", p.name, c.nth, c.op, c.key, c.condition(), how, at.Seconds())
	if arrival >= 0 {
		c.waiting = w.arrive(c, arrival, true)
	}
	w.answerAt(c, answer)
	switch {
	case p.clean:
	case w.chance(w.fate.kill * c.weight()):
		w.control(p, at+w.draw(2*w.latency()), func() { w.kill(p) })
	case w.chance(w.fate.suspend * c.weight()):
		w.control(p, at+w.draw(w.latency()), func() { w.suspend(p, w.nap()) })
	}
}

func (r *request) condition() string {
	if r.match != "" {
		return " if it is still the same"
	}
	return ""
}

func (w *world) latency() time.Duration {
	if w.chance(w.fate.slow) {
		return w.draw(w.fate.sluggish)
	}
	return time.Millisecond + w.draw(30*time.Millisecond)
}

// nap is how long a process sleeps: about as long as a lease, often enough a little longer.
func (w *world) nap() time.Duration {
	if w.chance(0.3) {
		return w.draw(lasting)
	}
	return lasting*9/10 + w.draw(3*lasting)
}

// linger is when a late write is applied; some come after all else is over.
func (w *world) linger(c *call) {
	switch {
	case w.chance(0.2):
		w.late = append(w.late, func() { w.apply(c, false) })
	case w.chance(0.5):
		w.arrive(c, c.at+w.draw(lasting/2), false)
	default:
		w.arrive(c, c.at+w.draw(5*lasting), false)
	}
}

// arrive lets the store do what a call asks at a time. Its answer is what the caller is told, or it
// isn't.
func (w *world) arrive(c *call, at time.Duration, answers bool) *event {
	return w.at(at, func() {
		if answers {
			c.waiting = nil
		}
		w.apply(c, answers)
	})
}

func (w *world) apply(c *call, answers bool) {
	var res result
	if c.store == nil {
		res.truth = w.truth.answer()
	} else if (c.absent || c.match != "") && w.chance(w.fate.conflict) {
		res.err = errConflict
	} else {
		w.writer = c.process
		res = c.store.apply(&c.request, epoch.Add(w.now))
	}
	said := "ok"
	if res.err != nil {
		said = res.err.Error()
	}
	if c.writes() {
		if over := c.answered || c.abandoned || c.process.over; over && res.err == nil {
			w.stats.late++
			said += ", too late"
		}
		w.note("  %s of %s: %d %s %s: %s", c.store.name, c.process.name, c.nth, c.op, c.key, said)
		w.watch.check()
	}
	if answers && !c.lost && !c.answered {
		c.result = res
	}
}

// hold lets a call wait in its sender's machine.
func (w *world) hold(c *call, until time.Duration) {
	c.waiting.void = true
	arrival := until + w.latency()
	c.waiting = w.arrive(c, arrival, true)
	if !c.lost {
		w.answerAt(c, arrival+w.latency())
	}
}

func (w *world) answerAt(c *call, at time.Duration) {
	c.answerAt = max(at, w.now)
	at, p := c.answerAt, c.process
	w.at(at, func() {
		if c.answered || c.abandoned || p.over || c.answerAt != at {
			return
		}
		c.answered = true
		if c.lost {
			w.stats.lost++
			c.result = result{err: errUnavailable}
		}
		w.watch.answered(c)
		p.pending = slices.DeleteFunc(p.pending, func(o *call) bool { return o == c })
		w.let(p, order{answer: c})
	})
}

// notice finds the calls that nobody waits for any more.
func (w *world) notice(p *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending = slices.DeleteFunc(p.pending, func(c *call) bool {
		if c.abandoned {
			w.abandon(c)
		}
		return c.abandoned
	})
}

// abandon decides what becomes of a request whose sender has given up or died: what was sent may
// still arrive.
func (w *world) abandon(c *call) {
	switch {
	case c.waiting == nil:
	case !c.writes(), w.chance(0.3):
		c.waiting.void = true
	case w.chance(0.5):
		c.waiting.void = true
		w.linger(c)
	}
}
