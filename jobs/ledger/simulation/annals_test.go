package simulation

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// Annals are the records that processes have committed, each when the store first had it.
type annals struct {
	world     *world
	committed map[civil.Date][]ledger.Record
}

// changed takes note of the records that a month has and hadn't before.
func (a *annals) changed(key string, o *object) {
	if o == nil || !isMonth(key) {
		return
	}
	for _, e := range a.world.watch.open(o).Records {
		list := a.committed[e.Partition]
		var last ledger.Record
		if len(list) > 0 {
			last = list[len(list)-1]
		}
		if same(e, last) {
			continue
		}
		if e.After != last.Seq || e.Seq != last.Seq+1 {
			a.world.violate("each record is on top of the one before",
				"%s: record %d of %s is on top of %d, and %d of %s was there",
				e.Partition, e.Seq, e.Run, e.After, last.Seq, last.Run)
		}
		a.committed[e.Partition] = append(list, e)
	}
}

// same tells whether two records are one.
func same(a, b ledger.Record) bool {
	return a.After == b.After && a.Rows == b.Rows && line(a) == line(b)
}

// numbered finds a record by its number.
func numbered(list []ledger.Record, seq int) (ledger.Record, bool) {
	i, there := slices.BinarySearchFunc(list, seq, func(e ledger.Record,
		seq int) int {
		return cmp.Compare(e.Seq, seq)
	})
	if !there {
		return ledger.Record{}, false
	}
	return list[i], true
}

// told is what history should say of successive records of a partition: a line for each content, by
// the fetches that brought it first and last.
func told(list []ledger.Record) string {
	var lines []string
	var was ledger.Record
	for _, e := range list {
		if len(lines) == 0 || was.Hash != e.Hash || was.Rows != e.Rows || was.State != e.State {
			lines, was = append(lines, ""), e
		}
		e.Since, e.Run, e.Reason = was.Brought(), was.Run, was.Reason
		lines[len(lines)-1] = line(e)
	}
	return strings.Join(lines, "")
}

func line(e ledger.Record) string {
	return fmt.Sprintf("\n%s %d %s %s %s since %v until %v", e.Partition, e.Seq, e.State, e.Hash, e.Run, e.Since.Unix(),
		e.Fetched.Unix())
}

// lookUp lets a process read the history while others go on: it must be what was committed at some
// time meanwhile.
func (a *annals) lookUp(ctx context.Context, t *ledger.Table) {
	before := map[civil.Date]int{}
	for partition, list := range a.committed {
		before[partition] = len(list)
	}
	if t.Refresh(ctx) != nil {
		return
	}
	history, err := t.History(ctx, civil.Date{}, civil.Date{})
	if err != nil {
		return
	}
	a.world.stats.lines += len(history)
	got := map[civil.Date]string{}
	for _, e := range history {
		got[e.Partition] += line(e)
	}
	for partition, list := range a.committed {
		if n := before[partition]; !a.fits(partition, got[partition], n) {
			a.world.violate("history is what was committed",
				"of %s a process reads%s\nand when it began there was%s\nand now there is%s",
				partition, got[partition], told(list[:n]), told(list))
		}
	}
}

func (a *annals) fits(partition civil.Date, got string, from int) bool {
	for n := from; n <= len(a.committed[partition]); n++ {
		if told(a.committed[partition][:n]) == got {
			return true
		}
	}
	return false
}

// check wants each line of history once and as it was committed, and nothing lost between history
// and the records that planning reads.
func (a *annals) check() {
	had := map[civil.Date]map[int]ledger.Record{}
	for _, key := range a.world.watch.months() {
		m := a.world.watch.open(a.world.ledger.objects[key])
		var lines []ledger.Record
		for _, name := range m.Older {
			o := a.world.ledger.objects[name]
			if o == nil {
				a.world.violate("what a month names is there", "%s names %s", key, name)
				continue
			}
			lines = append(lines, a.world.watch.open(o).Lines...)
		}
		lines = append(lines, m.History...)
		for _, e := range lines {
			list := a.committed[e.Partition]
			if _, twice := had[e.Partition][e.Seq]; twice {
				a.world.violate("history has each line once", "%s has once more%s", key, line(e))
			}
			if was, there := numbered(list, e.Seq); !there || line(was) != line(e) {
				a.world.violate("history has what was committed", "%s has%s", key, line(e))
			}
			keep(had, e)
		}
		for _, e := range m.Records {
			keep(had, e)
		}
	}
	for partition, list := range a.committed {
		of := had[partition]
		var kept []ledger.Record
		for _, seq := range slices.Sorted(maps.Keys(of)) {
			kept = append(kept, of[seq])
		}
		if told(kept) != told(list) {
			a.world.violate("no line of history is lost", "of %s there is%s\nand there was%s", partition, told(kept),
				told(list))
		}
	}
}

func keep(had map[civil.Date]map[int]ledger.Record, e ledger.Record) {
	if had[e.Partition] == nil {
		had[e.Partition] = map[int]ledger.Record{}
	}
	had[e.Partition][e.Seq] = e
}
