package simulation

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/civil"
	"github.com/anishathalye/porcupine"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// A history is what processes believe they have done with each register: a unit's claim, to be had by its next number,
// and the records of a week, to be replaced by those of its next number.
type history struct {
	world     *world
	registers map[string][]porcupine.Operation
}

// won is a number that a process has created, and, for all it knows, as the only one.
type won struct {
	register string
	number   int
	*call
}

// A step is what was done to a register: its number was seen, or taken.
type step struct {
	take   bool
	number int
	who    string
}

// The register goes up only: a number is taken by one, and none is seen or taken after a higher one.
var register = porcupine.Model{
	Init: func() any { return 0 },
	Step: func(state, input, _ any) (bool, any) {
		number, s := state.(int), input.(step)
		if s.take {
			return s.number > number, s.number
		}
		return s.number >= number, s.number
	},
	DescribeOperation: func(input, _ any) string {
		s := input.(step)
		if s.take {
			return fmt.Sprintf("%s takes %d", s.who, s.number)
		}
		return fmt.Sprintf("%s sees %d", s.who, s.number)
	},
}

// issued takes note of a number that a process tries to create.
func (h *history) issued(c *call) {
	if c.op != "create" {
		return
	}
	name := strings.TrimSuffix(c.key, ".json")
	dot := strings.LastIndexAny(name, "./")
	number, err := strconv.Atoi(name[dot+1:])
	if err != nil {
		return
	}
	p, w := c.process, won{name[:dot], number, c}
	switch {
	case strings.Contains(name, "/claims/"):
		p.claims = slices.DeleteFunc(p.claims, func(o won) bool { return o.register == w.register })
		p.claims = append(p.claims, w)
	case strings.Contains(name, "/partitions/"):
		p.records = append(p.records, w)
	}
}

// claimed: the process has the window, by the numbers that it tried last.
func (h *history) claimed(p *process, w refresh.Window) {
	p.beats = map[string]time.Duration{}
	for _, c := range p.claims {
		unit := c.register[strings.LastIndexByte(c.register, '/')+1:]
		if slices.Contains(w.Claims(), unit) {
			h.add(p, c.register, step{true, c.number, p.name}, c.tick)
			p.beats[c.register] = max(c.at, p.early[c.register])
		}
	}
	if len(p.beats) != len(w.Claims()) {
		h.world.violate("work is claimed", "%s works on %v and has claimed %v", p.name, w.Claims(), p.beats)
	}
	p.claims = nil
	p.looked = h.world.tick
}

// begins: what the process records from here on belongs to one publication.
func (h *history) begins(p *process) { p.records = nil }

// recorded: the publication has succeeded for these partitions. A number that another process had taken before was tried in vain.
func (h *history) recorded(p *process, published map[civil.Date]bool) {
	for _, r := range p.records {
		succeeded := slices.ContainsFunc(h.world.watch.entries(&object{data: r.data}), func(e ledger.Record) bool { return published[e.Partition] })
		if succeeded && (r.result.err == nil || bytes.Equal(h.world.annals.first[r.key], r.data)) {
			h.add(p, r.register, step{true, r.number, p.name}, r.tick)
		}
	}
}

// read: the process has looked what is recorded since it claimed the unit.
func (h *history) read(p *process, t *ledger.Table) {
	tops := map[civil.Date]int{}
	for partition, e := range t.Records() {
		tops[weekOf(partition)] = max(tops[weekOf(partition)], e.Seq)
	}
	for _, week := range slices.SortedFunc(maps.Keys(tops), civil.Date.Compare) {
		h.add(p, fmt.Sprintf("tables/%s/partitions/%s", table, week), step{false, tops[week], p.name}, p.looked)
	}
}

func (h *history) add(p *process, name string, s step, sent int64) {
	if h.registers == nil {
		h.registers = map[string][]porcupine.Operation{}
	}
	h.world.tick++
	h.registers[name] = append(h.registers[name], porcupine.Operation{
		ClientId: p.nth, Input: s, Call: sent, Return: h.world.tick,
	})
	h.world.stats.steps++
}

// check wants each history to be one that a single register could have had.
func (h *history) check(w *world) {
	for _, name := range slices.Sorted(maps.Keys(h.registers)) {
		ops := h.registers[name]
		if porcupine.CheckOperations(register, ops) {
			continue
		}
		invariant := "one winner of each record"
		if strings.Contains(name, "/claims/") {
			invariant = "one winner of each claim"
		}
		var told []string
		for _, op := range ops[max(0, len(ops)-math.MaxInt8):] {
			told = append(told, fmt.Sprintf("%s (%d to %d)", register.DescribeOperation(op.Input, nil), op.Call, op.Return))
		}
		w.violate(invariant, "%s: %s", name, strings.Join(told, ", "))
	}
}
