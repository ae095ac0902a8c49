package push

import (
	"cmp"
	"math/big"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/spend"
)

// The values of balance.Verdict, which says how a report's figure compares with what was pushed.
const isEqual, isWaiting, isMore, differs = "equal", "waiting", "more", "differs"

// A balance is the spend of one day, type and currency: as it was accepted, and as the report has
// it. Amounts are decimals as text, so that no reader of JSON rounds them.
type balance struct {
	Day        string `json:"day"`
	Type       string `json:"type"`
	Currency   string `json:"currency"`
	Records    int64  `json:"records"`    // how many were accepted
	Pushed     string `json:"pushed"`     // the sum of what was accepted
	Report     string `json:"report"`     // empty: the report has no such row
	Difference string `json:"difference"` // the report's figure minus what was pushed
	// Difference as a percentage of Pushed; empty if nothing was pushed, or the report has more
	// than twice as much.
	Share    string     `json:"share"`
	Verdict  string     `json:"verdict"`
	Accepted time.Time  `json:"accepted"`        // when the last of its records was accepted, or later
	Until    *time.Time `json:"until,omitempty"` // when the waiting ends; nil unless the verdict is waiting
	Tags     []tagSum   `json:"tags"`            // the largest first

	amount *big.Rat // Pushed as a number
}

// A tagSum is the part of a sum that was pushed with one tag.
type tagSum struct {
	Tag     string `json:"tag"` // empty when the records' tags aren't on record
	Records int64  `json:"records"`
	Pushed  string `json:"pushed"`
	Alone   bool   `json:"alone"` // Pushed is as much as the report lacks

	amount *big.Rat // Pushed as a number
}

// pushedSums adds up what the service accepted for the days from first to last, over all files.
func pushedSums(files []outbox.File, first, last civil.Date) ([]*balance, error) {
	byKey := map[spend.Key]*balance{}
	var sums []*balance
	for _, f := range files {
		for text, sum := range f.Sums {
			key, err := spend.ParseKey(text)
			if err != nil {
				return nil, err
			}
			if key.Day < first.String() || key.Day > last.String() {
				continue
			}
			tag := key.Tag
			key.Tag = ""
			b := byKey[key]
			if b == nil {
				b = &balance{Day: key.Day, Type: key.Type, Currency: strings.ToUpper(key.Currency),
					amount: new(big.Rat)}
				byKey[key], sums = b, append(sums, b)
			}
			b.add(tag, sum.Records, costOf(key.Type, sum.Amount))
			if f.Last.After(b.Accepted) {
				b.Accepted = f.Last.UTC().Truncate(time.Second)
			}
		}
	}
	slices.SortFunc(sums, func(a, b *balance) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Currency, b.Currency))
	})
	for _, b := range sums {
		slices.SortFunc(b.Tags, func(x, y tagSum) int {
			return cmp.Or(y.amount.Cmp(x.amount),
				cmp.Compare(x.Tag, y.Tag))
		})
	}
	return sums, nil
}

// costOf returns what a sum of amounts should be in a report. An amount of cpm is the price of a
// thousand impressions.
func costOf(costType string, amount *big.Int) *big.Rat {
	decimals := int64(spend.Decimals)
	if costType == "cpm" {
		decimals += 3
	}
	return new(big.Rat).SetFrac(amount, new(big.Int).Exp(big.NewInt(10), big.NewInt(decimals), nil))
}

// add adds accepted records and their cost to the sum, and to the part of their tag.
func (b *balance) add(tag string, records int64, cost *big.Rat) {
	b.Records += records
	b.amount.Add(b.amount, cost)
	b.Pushed = decimalText(b.amount)
	at := slices.IndexFunc(b.Tags, func(t tagSum) bool { return t.Tag == tag })
	if at < 0 {
		at, b.Tags = len(b.Tags), append(b.Tags, tagSum{Tag: tag, amount: new(big.Rat)})
	}
	t := &b.Tags[at]
	t.Records += records
	t.amount.Add(t.amount, cost)
	t.Pushed = decimalText(t.amount)
}

// compare compares the report's figure with what was pushed. The service may round its figure, so a
// difference of up to half of the figure's last decimal counts as equal. A missing figure counts
// as 0. oneNetwork means that the report has the spend of one network only: a larger figure is then
// an error, too.
func (b *balance) compare(now time.Time, wait time.Duration, oneNetwork bool) {
	report := new(big.Rat)
	whole, decimals, _ := strings.Cut(b.Report, ".")
	if _, ok := report.SetString(whole + "." + decimals); !ok {
		report.SetInt64(0)
	}
	d := new(big.Rat).Sub(report, b.amount)
	half := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Mul(big.NewInt(2),
		new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(len(decimals))), nil)))
	near := func(x, y *big.Rat) bool { return new(big.Rat).Abs(new(big.Rat).Sub(x, y)).Cmp(half) <= 0 }
	if b.Difference = decimalText(d); b.amount.Sign() > 0 && d.Cmp(b.amount) <= 0 {
		share := new(big.Rat).Mul(d, big.NewRat(100, 1))
		if b.Share = share.Quo(share, b.amount).FloatString(1); b.Share == "-0.0" {
			b.Share = "0.0"
		}
	}
	until := b.Accepted.Add(wait)
	switch {
	case b.Report != "" && near(report, b.amount), b.amount.Sign() == 0 && d.Sign() == 0:
		b.Verdict = isEqual
	case d.Sign() > 0 && !oneNetwork:
		b.Verdict = isMore
	case d.Sign() < 0 && now.Before(until):
		b.Verdict, b.Until = isWaiting, &until
	default:
		b.Verdict = differs
	}
	if missing := new(big.Rat).Neg(d); b.Verdict == differs && missing.Sign() > 0 {
		for i := range b.Tags {
			b.Tags[i].Alone = near(b.Tags[i].amount, missing)
		}
	}
}

// decimalText writes a number of at most eight decimals, as amounts and the report's figures are,
// without zeros at the end.
func decimalText(n *big.Rat) string {
	text := n.FloatString(spend.Decimals + 3)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
