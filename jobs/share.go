package jobs

import "slices"

// A Share says which one of several tasks this is that do one execution together. The zero Share is all of it.
type Share struct {
	Index int // of this task, from 0
	Count int // of tasks
}

// A turn is a unit in the order in which a task takes them; of a job without any, unit is -1, so that the job is begun all the same.
type turn struct {
	job, unit int
	shared    bool // another task begins with the unit, so that it's probably done when this one comes to it
}

// turns are the units of all plans: first the task's own part of them, and then what follows it, around to where it began. So tasks
// begin in different places, those that are done help the others, and what the part of a task that was killed holds is done all the
// same.
func (s Share) turns(plans []Planned) []turn {
	var all []turn
	var units []int // places in all
	for job, p := range plans {
		if len(p.Units) == 0 {
			all = append(all, turn{job: job, unit: -1})
		}
		for unit := range p.Units {
			units = append(units, len(all))
			all = append(all, turn{job: job, unit: unit})
		}
	}
	if s.Count <= 1 || len(units) == 0 {
		return all
	}
	from, to := len(units)*s.Index/s.Count, len(units)*(s.Index+1)/s.Count
	for n, at := range units {
		all[at].shared = n < from || n >= to
	}
	return slices.Concat(all[units[from]:], all[:units[from]])
}
