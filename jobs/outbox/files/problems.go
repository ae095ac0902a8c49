package files

// A Problem is one reason for which rows of a file would be refused, or for which a person should look at them.
type Problem struct {
	Refusal
	Rows  int64
	First int64 // the first such row
	Sent  bool  // a warning: the rows are sent all the same
}

// problems counts the reasons of one reading.
type problems struct {
	seen  map[Refusal]*Problem
	order []*Problem
}

func (p *problems) list() (all []Problem) {
	for _, one := range p.order {
		all = append(all, *one)
	}
	return all
}

// mostProblems are told apart; the reason of a row may have numbers of its own in it.
const mostProblems = 1000

func (p *problems) count(r Refusal, row int64) {
	one := p.seen[r]
	if one == nil && len(p.seen) >= mostProblems {
		r = Refusal{Reason: "(other reasons)"}
		one = p.seen[r]
	}
	if one == nil {
		one = &Problem{Refusal: r, First: row}
		p.seen[r] = one
		p.order = append(p.order, one)
	}
	one.Rows++
}
