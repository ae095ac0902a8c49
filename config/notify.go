package config

import (
	"time"

	"github.com/reportferry/reportferry/config/shape"
	"github.com/reportferry/reportferry/config/strict"
)

// Notify is a receiver of notices about what is wrong.
type Notify struct {
	URL    string        // a reference to the address
	On     []string      // reasons for which it gets notices; none: all of Reasons
	Jobs   []string      // jobs about which it gets notices; none: all
	Remind time.Duration // how often a notice of what goes on is repeated; 0: never
}

// Reasons are the words that the key on of a receiver takes: what a notice may be about.
var Reasons = []string{"failed", "stale", "held_back", "unreconciled", "changed_after_final", "not_taken", "conflict",
	"schema", "denied", "resolved"}

// receivers reads the list of receivers.
func receivers() strict.Shape[[]Notify] {
	return strict.ListOf(func(n *Notify) strict.Object {
		return strict.Object{What: "notify", Fields: []strict.Field{
			shape.Mandatory(shape.Place("url", secretAddress, &n.URL, "${SLACK_WEBHOOK}",
				"Where the address is kept, never the address itself: a webhook of Slack, Teams, Google Chat or "+
					"Discord, PagerDuty's `https://events.pagerduty.com/v2/enqueue?routing_key=...`, "+
					"`smtp://user:password@host:587/?from=...&to=...`, or any address that takes JSON.")),
			strict.Optional("on", strict.TextsOf(strict.OneOf(Reasons...)), &n.On, "[failed, stale, denied, resolved]",
				"What to tell of. held_back is an answer that takes good rows away, not_taken are rows of a pushed "+
					"file, schema is a column or an event that the service has no more, and resolved says that one "+
					"of these is over. Without the key all of it."),
			strict.Optional("jobs", strict.TextsOf(strict.Text), &n.Jobs, "[campaigns_daily]",
				"Names of the jobs to tell of. Without the key all of them."),
			strict.Optional("remind", strict.Duration(time.Hour), &n.Remind, "24h",
				"How often to tell again of what goes on. Without the key it is told once."),
		}}
	}, nil)
}

// checkReceivers refuses names of jobs that don't exist. It replaces the name of an entry by the
// names of its jobs.
func checkReceivers(d *strict.Decoder, c *Config, at strict.Node) {
	for i, n := range c.Notify {
		var names []string
		for _, name := range n.Jobs {
			list := c.Named(name)
			if list == nil {
				d.Fail(at, "notify: there is no job %s", name)
			}
			for _, j := range list {
				names = append(names, j.Name)
			}
		}
		c.Notify[i].Jobs = names
	}
}
