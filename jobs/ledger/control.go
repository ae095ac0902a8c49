package ledger

import (
	"math/big"
	"strings"
)

// A Control says how a partition's rows compare with the totals that the service itself gives.
type Control struct {
	State       ControlState `json:"state"`
	Why         string       `json:"why,omitempty"` // why the comparison couldn't be made, or not again
	Differences []Difference `json:"differences,omitempty"`

	// Totals are the service's own totals, exact decimals by column, of the metrics whose rows
	// don't add up to them, such as ratios. Nil: the totals couldn't be fetched, or an earlier
	// version wrote the record.
	Totals map[string]string `json:"totals,omitzero"`
}

// A ControlState is the outcome of a comparison with the service's totals.
type ControlState string

// The states.
const (
	Reconciled   ControlState = "reconciled"   // all metrics that can be compared agree
	Unreconciled ControlState = "unreconciled" // some differ, or the totals couldn't be fetched
	Unchecked    ControlState = "unchecked"    // no metric can be compared, or the config turns the comparison off
)

// OfCohort marks a difference of a metric that is dated by install. Totals of such metrics drift in
// the service itself.
const OfCohort = "cohort"

// A Difference is one metric of a partition whose total isn't the sum of the rows.
type Difference struct {
	Metric string `json:"metric"` // the column
	Rows   string `json:"rows"`   // the sum over the rows, an exact decimal
	// Total is the service's total, an exact decimal; empty: the service has no row for the period.
	Total string `json:"total"`
	Where string `json:"where,omitempty"` // which rows differ, as far as it was found: app_token abc123, network X
	Of    string `json:"of,omitempty"`    // OfCohort, or empty
}

// Also appends a text to Why, after a semicolon if Why isn't empty.
func (c *Control) Also(said string) {
	if c.Why != "" {
		said = c.Why + "; " + said
	}
	c.Why = said
}

// Say returns the control in words, such as "cost 211.12 by the service's total, 69.96 in the rows;
// missing in app_token abc123".
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

// text returns the difference in words, as in the example of Say.
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

// Headline returns in a few words why a control isn't reconciled. It doesn't blame the rows when
// the totals couldn't be fetched.
func (c Control) Headline() string {
	if len(c.Differences) == 0 {
		return "the service's totals couldn't be had"
	}
	return "the rows differ from the service's totals"
}

// Plain drops the zeros at the end of a decimal, and the point if nothing follows it.
func Plain(number string) string {
	if !strings.Contains(number, ".") || strings.Contains(number, "e") {
		return number
	}
	return strings.TrimSuffix(strings.TrimRight(number, "0"), ".")
}
