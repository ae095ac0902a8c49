package spend

import (
	"context"
	"fmt"
	"strings"

	"github.com/reportferry/reportferry/jobs/outbox"
)

// A Key is what accepted spend is summed up by.
type Key struct {
	Day      string // 2026-01-31, in UTC
	Type     string
	Currency string
}

func (k Key) String() string { return k.Day + " " + k.Type + " " + k.Currency }

// ParseKey reads what String writes.
func ParseKey(s string) (Key, error) {
	parts := strings.Split(s, " ")
	if len(parts) != 3 {
		return Key{}, fmt.Errorf("read the sums of spend: %q is no day, type and currency", s)
	}
	return Key{parts[0], parts[1], parts[2]}, nil
}

// Decimals of the amounts in outbox.Sum.
const Decimals = mostDecimals

// A Problem is one reason for which rows of a file would be refused.
type Problem struct {
	Refusal
	Rows  int64
	First int64 // the first such row
}

// counting counts the reasons in the first reading of a file.
type counting struct {
	outbox.Source[Record]
	seen     map[Refusal]*Problem
	order    []*Problem
	problems []Problem
}

func (c *counting) Read(ctx context.Context, sending bool, each func(*outbox.Record[Record]) error) error {
	err := c.Source.Read(ctx, sending, func(r *outbox.Record[Record]) error {
		if r.Refusal != nil && !sending {
			c.count(Refusal(*r.Refusal), r.Row)
		}
		return each(r)
	})
	for _, p := range c.order {
		c.problems = append(c.problems, *p)
	}
	c.order = nil
	return err
}

// mostProblems are told apart; the reason of a row may have numbers of its own in it.
const mostProblems = 1000

func (c *counting) count(r Refusal, row int64) {
	p := c.seen[r]
	if p == nil {
		if len(c.seen) >= mostProblems {
			r = Refusal{Reason: "(other reasons)"}
			if p = c.seen[r]; p != nil {
				p.Rows++
				return
			}
		}
		p = &Problem{Refusal: r, First: row}
		c.seen[r] = p
		c.order = append(c.order, p)
	}
	p.Rows++
}
