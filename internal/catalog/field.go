package catalog

// Field is one dimension or metric. Of a dimension only Slug, Type and Description are set.
type Field struct {
	Slug        string // as asked for
	Type        Type
	Unit        string // count, money, fraction, seconds or number; empty for a dimension
	Description string // the service's label and formula, with what the slug put into a pattern
	Additive    Additive
	Dated       Dated
	// Horizon is the number of days from the end of an install's period until the value is final: 7 for d7, 6 for w0,
	// 13 for w1, 29 for m0. It is 0 when nothing after that day counts, and when no day ends it (see Accumulates).
	Horizon     int
	Accumulates bool // dated by install and growing until now: no horizon ends it

	spend string // what of the ad spend is in it: nothing, the networks' own, or what ad_spend_mode chooses
}

// Additive tells over which dimensions a metric's sum means something.
type Additive uint8

// The zero value is the cautious one: nothing is known to be summable.
const (
	Nowhere     Additive = iota // ratios, means, absolute differences, moving averages
	NotOverTime                 // uniques: over networks or countries, but whoever comes twice counts in two days
	Everywhere                  // over all dimensions
)

var additives = map[string]Additive{"none": Nowhere, "not time": NotOverTime, "all": Everywhere}

// Dated tells to which day a metric's value belongs.
type Dated uint8

// The dates of the service's rows (help center, metrics glossary).
const (
	ByActivity Dated = iota // the day on which it happened
	ByInstall               // the day of the install or reattribution of the user it happened to
)

var dates = map[string]Dated{"activity": ByActivity, "install": ByInstall}

// AdditiveOver tells whether rows that differ in this dimension may be summed.
func (f Field) AdditiveOver(dimension string) bool {
	if f.Additive == NotOverTime {
		return !dimensions[dimension].Type.IsTime()
	}
	return f.Additive == Everywhere
}

// NetworkCost tells whether the metric rests on what ad networks report of themselves, which they restate for longer
// than anything else changes. Some metrics do whatever the report says, others depend on its ad_spend_mode.
func (f Field) NetworkCost(adSpendMode string) bool {
	return f.spend == "network" || f.spend == "mode" && adSpendMode != "adjust"
}
