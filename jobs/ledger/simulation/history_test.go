package simulation

import (
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
// and a partition's record, to be replaced by that of its next number in a swap of the month.
type history struct {
	world     *world
	registers map[string][]porcupine.Operation
}

// won is a number that a process has tried to take, and, for all it knows, as the only one.
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

// issued takes note of numbers that a process tries to take.
func (h *history) issued(c *call) {
	p := c.process
	switch {
	case c.op == "create" && strings.Contains(c.key, "/claims/"):
		name := strings.TrimSuffix(c.key, ".json")
		slash := strings.LastIndexByte(name, '/')
		number, err := strconv.Atoi(name[slash+1:])
		if err != nil {
			return
		}
		p.claims = slices.DeleteFunc(p.claims, func(o won) bool { return o.register == name[:slash] })
		p.claims = append(p.claims, won{name[:slash], number, c})
	case c.writes() && isMonth(c.key):
		for _, e := range h.world.watch.open(&object{data: c.data}).Records {
			w := won{recordOf(e.Partition), e.Seq, c}
			if e.Run == p.name && !slices.ContainsFunc(p.records, func(o won) bool { return o.register == w.register && o.number == w.number }) {
				p.records = append(p.records, w)
			}
		}
	}
}

// recordOf names the register of a partition's records.
func recordOf(partition civil.Date) string { return fmt.Sprintf("%s/%s", table, partition) }

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

// begins: the process is about to publish, on top of what it knows.
func (h *history) begins(p *process) { p.records = nil }

// recorded: the publication has succeeded for these partitions, and has sent base before.
func (h *history) recorded(p *process, published map[civil.Date]ledger.Record) {
	for partition, base := range published {
		for _, r := range p.records {
			if r.register == recordOf(partition) && r.number > base.Seq {
				h.add(p, r.register, step{true, r.number, p.name}, r.tick)
			}
		}
	}
}

// read: the process has looked what is recorded since it claimed the unit.
func (h *history) read(p *process, t *ledger.Table) {
	for _, e := range t.Sorted() {
		h.add(p, recordOf(e.Partition), step{false, e.Seq, p.name}, p.looked)
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
