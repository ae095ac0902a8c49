package store

// Counts are rows by state; doubtful ones are counted twice.
type Counts struct {
	Pending    int64 `json:"pending,omitempty"`
	Accepted   int64 `json:"accepted,omitempty"`
	Rejected   int64 `json:"rejected,omitempty"`
	Unknown    int64 `json:"unknown,omitempty"`
	Refused    int64 `json:"refused,omitempty"`
	Duplicates int64 `json:"duplicates,omitempty"`
	Conflicts  int64 `json:"conflicts,omitempty"`
	Doubtful   int64 `json:"doubtful,omitempty"`
}

// Tally counts the rows of a push by what became of them.
func (p *Push) Tally() Counts {
	if p.States == nil {
		return p.Head.Counts
	}
	return p.States.Tally()
}

// Rows gives the states of the rows, also of a push that has ended; none of one that is pruned.
func (p *Push) Rows() (*States, error) {
	if p.States != nil {
		return p.States, nil
	}
	s := &States{}
	return s, s.Apply(p.Spans)
}

// Tally counts the rows by their states.
func (s *States) Tally() Counts {
	var c Counts
	for now, rows := range s.counts() {
		c.Move(State(now), rows)
	}
	return c
}

// Move adds n rows of a state.
func (c *Counts) Move(s State, n int64) {
	if s == Waiting {
		c.Pending += n
		return
	}
	if s&Doubt != 0 {
		c.Doubtful += n
	}
	switch s &^ Doubt {
	case Pending:
		c.Pending += n
	case Accepted:
		c.Accepted += n
	case Rejected:
		c.Rejected += n
	case Unknown:
		c.Unknown += n
	case Refused:
		c.Refused += n
	case Duplicate:
		c.Duplicates += n
	case Conflict:
		c.Conflicts += n
	}
}
