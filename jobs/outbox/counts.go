package outbox

// counts are rows by state; doubtful ones are counted twice.
type counts struct {
	Pending    int64 `json:"pending,omitempty"`
	Accepted   int64 `json:"accepted,omitempty"`
	Rejected   int64 `json:"rejected,omitempty"`
	Unknown    int64 `json:"unknown,omitempty"`
	Refused    int64 `json:"refused,omitempty"`
	Duplicates int64 `json:"duplicates,omitempty"`
	Conflicts  int64 `json:"conflicts,omitempty"`
	Doubtful   int64 `json:"doubtful,omitempty"`
}

func (c counts) rejects() int64 { return c.Rejected + c.Refused + c.Conflicts }

func (p *push) tally() counts {
	if p.states == nil {
		return p.head.Counts
	}
	return p.states.tally()
}

func (s *states) tally() counts {
	var c counts
	for now, rows := range s.counts() {
		c.move(state(now), rows)
	}
	return c
}

// move adds n rows of a state.
func (c *counts) move(s state, n int64) {
	if s == waiting {
		c.Pending += n
		return
	}
	if s&doubt != 0 {
		c.Doubtful += n
	}
	switch s &^ doubt {
	case pending:
		c.Pending += n
	case accepted:
		c.Accepted += n
	case rejected:
		c.Rejected += n
	case unknown:
		c.Unknown += n
	case refused:
		c.Refused += n
	case duplicate:
		c.Duplicates += n
	case conflict:
		c.Conflicts += n
	}
}
