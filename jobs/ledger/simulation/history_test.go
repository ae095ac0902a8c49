package simulation

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"cloud.google.com/go/civil"
	"github.com/anishathalye/porcupine"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// A history is what processes believe of each register: a partition's record, to be replaced by
// that of its next number.
type history struct {
	world     *world
	registers map[civil.Date][]porcupine.Operation
	denied    []step // records that a process has said to have lost
}

// A step is what was done to a register: its number was seen, or taken.
type step struct {
	partition civil.Date
	take      bool
	number    int
	who       string
}

// The register goes up only: a number is taken by one, and none is seen or taken after a higher
// one.
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

// begun: the process has leased the window since a time, and seen what is recorded.
func (h *history) begun(p *process, window refresh.Window, since int64) {
	for _, d := range window.Due {
		h.add(p, step{d.Partition, false, window.Base[d.Partition].Seq, p.name}, since)
	}
}

// published: the process has begun to publish a partition at a time, on top of a record, and this
// came of it.
func (h *history) published(p *process, base ledger.Record, partition civil.Date, err error, since int64) {
	s := step{partition, true, base.Seq + 1, p.name}
	switch {
	case err == nil:
		h.add(p, s, since)
	case errors.Is(err, ledger.ErrLost):
		h.denied = append(h.denied, s)
	}
}

func (h *history) add(p *process, s step, since int64) {
	if h.registers == nil {
		h.registers = map[civil.Date][]porcupine.Operation{}
	}
	h.world.tick++
	h.registers[s.partition] = append(h.registers[s.partition], porcupine.Operation{
		ClientId: p.nth, Input: s, Call: since, Return: h.world.tick,
	})
	h.world.stats.steps++
}

// check wants each history to be one that a single register could have had.
func (h *history) check(w *world) {
	for _, partition := range slices.SortedFunc(maps.Keys(h.registers), civil.Date.Compare) {
		ops := h.registers[partition]
		if porcupine.CheckOperations(register, ops) {
			continue
		}
		var told []string
		for _, op := range ops[max(0, len(ops)-math.MaxInt8):] {
			told = append(told, fmt.Sprintf("%s (%d to %d)", register.DescribeOperation(op.Input, nil), op.Call,
				op.Return))
		}
		w.violate("one winner of each record", "%s: %s", partition, told)
	}
}

// honest wants nothing committed of what a process has said to have lost.
func (h *history) honest() {
	for _, s := range h.denied {
		if e, there := numbered(h.world.annals.committed[s.partition], s.number); there && e.Run == s.who {
			h.world.violate("who says that it lost has committed nothing", "%s: record %d of %s", s.partition, s.number,
				s.who)
		}
	}
}
