package spend

import (
	"time"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/jobs/outbox/files"
)

// Options describe one spend job.
type Options struct {
	files.Options

	Client *adjust.Client // client of the ad spend host, with a limiter of its own

	Columns, Constants map[string]string // see files.Mapping
	Format             files.Format      // its Zone is set from Zone
	More               []string          // currency codes beside those of ISO 4217
	Zone               *time.Location    // zone of times in files that name none
	SendConflicts      bool              // send a Cost ID that was sent with other content before; else reject it
}

// Kind plans and pushes the files of one spend job.
type Kind struct {
	files.Pusher

	o       Options
	mapping files.Mapping // see the function of that name
	check   *checker
}

// New returns the kind for a job. It reads nothing yet.
func New(o Options) *Kind {
	o.Format.Zone = o.Zone
	m := mapping(o.Columns, o.Constants, o.Format)
	k := &Kind{o: o, mapping: m, check: newChecker(m.Has(names[engagedAt]), o.More, o.Zone)}
	k.Pusher = files.NewPusher(o.Options, files.Ways{Push: k.do, Check: k.Check})
	return k
}
