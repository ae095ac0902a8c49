package spend

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bojanz/currency"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/outbox/files"
)

// refuse returns the refusal of a row because of one field.
func refuse(f field, reason string) *files.Refusal {
	return &files.Refusal{Field: names[f], Reason: reason}
}

// Reasons for refusing a value.
const (
	isMissing = "is missing"
	// isExpired is the only refusal that depends on the clock. It has the record's age.
	isExpired = "is more than seven days ago (%s): " + expired
	expired   = "expired"
	// isGuarded refuses a cell to which a rejects file has added an apostrophe, so that a
	// spreadsheet doesn't compute it.
	isGuarded = "begins with an apostrophe and a sign, as a cell of a rejects file may; take the apostrophe away, " +
		"or keep that file's last columns"
)

// types are the types of cost that the service knows.
var types = []string{"cpc", "cpi", "cpe", "cpm"}

// A checker converts rows to records.
type checker struct {
	timed      bool              // the job names a column of times, so that a record without a time is refused
	zone       *time.Location    // zone of times that name none
	types      map[string]string // as spelled -> as sent
	currencies map[string]string // likewise
}

// newChecker returns a checker that accepts the currencies of ISO 4217 and those of more.
func newChecker(timed bool, more []string, zone *time.Location) *checker {
	c := &checker{timed: timed, zone: zone, types: map[string]string{}, currencies: map[string]string{}}
	for _, t := range types {
		c.types[t], c.types[strings.ToUpper(t)] = t, t
	}
	for _, list := range [][]string{currency.GetCurrencyCodes(), more} {
		for _, code := range list {
			lower := catalog.Fold(code)
			c.currencies[lower], c.currencies[strings.ToUpper(code)] = lower, lower
		}
	}
	return c
}

// record converts a row to a record. It checks field by field, and the first invalid one is the
// reason for a refusal. It doesn't check whether the engagement has expired.
func (c *checker) record(v *values) (r Cost, refused *files.Refusal) {
	var reason string
	if reason = whyNotText(v[costID], 12, 256); reason == "" {
		reason = files.NotID(v[costID])
	}
	if reason != "" {
		return r, refuse(costID, reason)
	}
	r.CostID = v[costID]
	if r.Type, reason = lookup(c.types, v[costType], "is none of "+strings.Join(types, ", ")); reason != "" {
		return r, refuse(costType, reason)
	}
	if r.Currency, reason = lookup(c.currencies, v[costCurrency],
		"isn't a currency of ISO 4217, nor one listed under currencies"); reason != "" {
		return r, refuse(costCurrency, reason)
	}
	// The amount may have the currency's sign or code beside it.
	sign, digits := files.CutSign(v[costAmount])
	switch same, known := isSign(sign, r.Currency); {
	case same:
		r.Amount, reason = amount(digits)
	case known:
		reason = "has the sign of another currency than cost_currency"
	default:
		r.Amount, reason = amount(v[costAmount])
	}
	if reason != "" {
		return r, refuse(costAmount, reason)
	}
	if reason = whyNotText(v[tag], 1, 128); reason != "" {
		return r, refuse(tag, reason)
	}
	r.Tag = v[tag]
	switch {
	case v[engagedAt] != "":
	case c.timed:
		return r, refuse(engagedAt, isMissing)
	default:
		return r, nil
	}
	at, ok := parseEngaged(v[engagedAt], c.zone)
	if !ok {
		return r, refuse(engagedAt, "isn't a time such as 2026-01-31T08:30:00Z")
	}
	r.Engaged = at.UTC()
	return r, nil
}

// cost returns what a refused row says of its cost, as far as that is valid.
func (c *checker) cost(v *values) (r Cost) {
	r.Type, _ = lookup(c.types, v[costType], isMissing)
	r.Currency, _ = lookup(c.currencies, v[costCurrency], isMissing)
	r.Amount, _ = amount(v[costAmount])
	return r
}

// lookup returns the spelling to be sent of a known word, or the reason why there is none. Upper
// and lower case count as equal.
func lookup(known map[string]string, s, complaint string) (sent, reason string) {
	if s == "" {
		return "", isMissing
	}
	sent, ok := known[s]
	if !ok {
		sent, ok = known[catalog.Fold(s)]
	}
	if !ok {
		return "", complaint
	}
	return sent, ""
}

// whyNotText returns the reason why s can't be sent as a text of least to most characters; "" if it
// can.
func whyNotText(s string, least, most int) string {
	if s == "" {
		return isMissing
	}
	count := 0
	for i, r := range s {
		count++
		if r >= ' ' && r < 0x7f { // nearly all
			continue
		}
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return "is not UTF-8"
			}
			return "holds U+FFFD, which stands for a character that was lost"
		}
		if unicode.IsControl(r) {
			return fmt.Sprintf("holds the control character %U", r)
		}
	}
	first, _ := utf8.DecodeRuneInString(s)
	last, _ := utf8.DecodeLastRuneInString(s)
	switch {
	case outbox.HasGuard(s):
		return isGuarded
	case unicode.IsSpace(first) || unicode.IsSpace(last):
		return "begins or ends with a blank"
	case count >= least && count <= most:
		return ""
	case least > 1:
		return fmt.Sprintf("has %d characters; want %d to %d", count, least, most)
	}
	return fmt.Sprintf("has %d characters; at most %d", count, most)
}
