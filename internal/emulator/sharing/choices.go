package sharing

import (
	"cmp"
	"math/bits"
	"slices"
)

// metricNames are the metrics that sharing can be set for, without `all`. Source: the service's
// interface document.
var metricNames = [...]string{"ad_revenue", "att_update", "event", "install", "reattribution",
	"reattribution_reinstall", "reinstall",
	"rejected_install", "rejected_reattribution", "sdk_click", "sdk_info", "session", "subscription", "uninstall",
	"update"}

// Metrics lists the metrics that sharing can be set for, sorted, without `all`.
func Metrics() []string { return slices.Clone(metricNames[:]) }

// groups maps each group to the metrics right below it. Source: the service's page on third-party
// sharing. The interface document calls five more of them groups, and names no metric below those.
var groups = map[string][]string{
	"session": {"install", "reinstall", "reattribution", "rejected_reattribution", "reattribution_reinstall"},
	"install": {"rejected_install"},
}

// metricSet has bit n for metricNames[n].
type metricSet uint16

// covered maps each metric to what a setting of it applies to: the metric, and all below it.
var covered = func() map[string]metricSet {
	sets := map[string]metricSet{"all": 1<<len(metricNames) - 1}
	var cover func(metric string) metricSet
	cover = func(metric string) metricSet {
		set := metricSet(1) << slices.Index(metricNames[:], metric)
		for _, below := range groups[metric] {
			set |= cover(below)
		}
		return set
	}
	for _, metric := range metricNames {
		sets[metric] = cover(metric)
	}
	return sets
}()

// setting switches sharing of a metric, or group, with a partner.
type setting struct {
	partner int // place in partnerNames.names
	metric  string
	share   bool
}

// inOrder sorts the settings so that groups come before what is below them; of two settings of one
// partner and metric the later one stays.
func inOrder(settings []setting) []setting {
	if len(settings) < 2 {
		return settings
	}
	slices.SortStableFunc(settings, func(a, b setting) int {
		wider := bits.OnesCount16(uint16(covered[b.metric])) - bits.OnesCount16(uint16(covered[a.metric]))
		return cmp.Or(a.partner-b.partner, wider, cmp.Compare(a.metric, b.metric))
	})
	out := settings[:0]
	for i, s := range settings {
		if i+1 < len(settings) && settings[i+1].partner == s.partner && settings[i+1].metric == s.metric {
			continue
		}
		out = append(out, s)
	}
	return out
}

// choice is what was set for one partner. A group's setting replaces older ones of the metrics
// below it, so it is enough to remember what holds for each metric.
type choice struct {
	partner         int
	decided, shared metricSet // metrics that were set, and those of them that are shared
}

// set applies a setting in place of what was set for its metrics before.
func (c *choice) set(s setting) {
	set := covered[s.metric]
	c.decided |= set
	c.shared &^= set
	if s.share {
		c.shared |= set
	}
}

// choices are what was set for a device, one choice for each partner, in no order.
type choices []choice

// forPartner returns what was set for a partner; a zero choice when nothing was.
func (c choices) forPartner(partner int) choice {
	for _, own := range c {
		if own.partner == partner {
			return own
		}
	}
	return choice{}
}

// with returns the choices after settings that are sorted by inOrder.
func (c choices) with(settings []setting) choices {
	for _, s := range settings {
		i := slices.IndexFunc(c, func(own choice) bool { return own.partner == s.partner })
		if i < 0 {
			i = len(c)
			c = append(c, choice{partner: s.partner})
		}
		c[i].set(s)
	}
	return c
}

// effective returns what is shared with the partner: what was set for it, or else for all partners,
// or else everything.
func (c choices) effective(partner int) metricSet {
	own, all := c.forPartner(partner), c.forPartner(everyPartner)
	return own.shared | all.shared&^own.decided | covered["all"]&^(own.decided|all.decided)
}

// everyPartner is the index of `all` in partnerNames.names.
const everyPartner = 0
