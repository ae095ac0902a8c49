package ledger

import (
	"math/big"
	"strings"
)

// A Control says how a partition's rows compare with the totals that the service itself gives.
type Control struct {
	State       ControlState `json:"state"`
	Why         string       `json:"why,omitempty"` // of a comparison that couldn't be made, or not again
	Differences []Difference `json:"differences,omitempty"`

	// Totals are what the service itself said of each metric, exact decimals by column, where the
	// rows don't add up to the same: those of ratios, for instance. Nil: its totals weren't had, or
	// an earlier version wrote the record.
	Totals map[string]string `json:"totals,omitzero"`
}

// A ControlState is the outcome of a comparison with the service's totals.
type ControlState string

// The states.
const (
	Reconciled   ControlState = "reconciled"   // every metric that can be compared agrees
	Unreconciled ControlState = "unreconciled" // some differ, or the totals couldn't be had
	Unchecked    ControlState = "unchecked"    // nothing can be compared, or the config says not to
)

// OfCohort marks a difference of a metric that is dated by install, whose totals drift in the
// service itself.
const OfCohort = "cohort"

// A Difference is one metric of a partition whose total isn't the sum of the rows.
type Difference struct {
	Metric string `json:"metric"` // the column
	Rows   string `json:"rows"`   // the sum over the rows, an exact decimal
	// What the service says, an exact decimal; empty: it has no row for the period.
	Total string `json:"total"`
	Where string `json:"where,omitempty"` // the place, as far as it was found: app_token abc123, network X
	Of    string `json:"of,omitempty"`    // OfCohort, or empty
}

// Also adds a sentence to why.
func (c *Control) Also(said string) {
	if c.Why != "" {
		said = c.Why + "; " + said
	}
	c.Why = said
}

// Say puts a control into words: "cost 211.12 by the service's total, 69.96 in the rows; missing in
// app_token abc123".
func (c Control) Say() string {
	var words []string
	for _, d := range c.Differences {
		words = append(words, d.text())
	}
	if c.Why != "" {
		words = append(words, c.Why)
	}
	return strings.Join(words, "; ")
}

func (d Difference) text() string {
	total := "nothing"
	if d.Total != "" {
		total = Plain(d.Total)
	}
	text := d.Metric + " " + total + " by the service's total, " + Plain(d.Rows) + " in the rows"
	if d.Where == "" {
		return text
	}
	theirs, _ := new(big.Rat).SetString(d.Total)
	ours, _ := new(big.Rat).SetString(d.Rows)
	if theirs != nil && ours != nil && theirs.Cmp(ours) > 0 {
		return text + "; missing in " + d.Where
	}
	return text + "; too much in " + d.Where
}

// Headline is in a few words why a control isn't reconciled: totals that couldn't be had say
// nothing of the rows.
func (c Control) Headline() string {
	if len(c.Differences) == 0 {
		return "the service's totals couldn't be had"
	}
	return "the rows differ from the service's totals"
}

// Plain leaves out zeros that end a decimal.
func Plain(number string) string {
	if !strings.Contains(number, ".") || strings.Contains(number, "e") {
		return number
	}
	return strings.TrimSuffix(strings.TrimRight(number, "0"), ".")
}
