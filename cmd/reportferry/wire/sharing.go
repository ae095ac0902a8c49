package wire

import (
	"context"
	"fmt"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/sharing"
)

// sharing makes a job of kind sharing.
func (s *Session) sharing(ctx context.Context, c config.Job, a PushAsk) (jobs.Job, error) {
	entry := c.Sharing
	p, err := s.pushing(ctx, c, entry.Push, a)
	if err != nil {
		return jobs.Job{}, err
	}
	o := sharing.Options{
		Options: p, Columns: entry.Columns, Constants: entry.Constants, Ignore: entry.Ignore, Partners: sharing.NewPartners(entry.Partners),
		FormObjects: entry.Objects, SendLate: entry.SendLate, RejectMalformed: entry.OnlyUUIDs, ShowIDs: a.ShowIDs,
	}
	if s.RunID != "" { // only a run sends anything, and needs the credential
		if o.Client, err = s.sharingClient(ctx, entry); err != nil {
			return jobs.Job{}, fmt.Errorf("job %s: %w", c.Name, err)
		}
		o.Client = s.watched(c.Name, o.Client)
	}
	return jobs.Job{Name: c.Name, Table: c.Table, Kind: sharing.New(o)}, nil
}

// sharingClient makes the client of the host of third-party sharing. It has a rate limit of its own and never sends the API
// token; without a sharing token it sends no credential at all.
func (s *Session) sharingClient(ctx context.Context, entry *config.Sharing) (*adjust.Client, error) {
	service := s.Config.Service
	o := s.pushClient(entry.Push)
	o.S2SURL = service.S2SURL
	if service.Embedded {
		o.S2SURL = "http://embedded"
	}
	if service.Sharing.Token != "" {
		var err error
		if o.SharingAuth, err = login(ctx, service.Sharing, "sharing", s.getenv); err != nil {
			return nil, err
		}
	}
	return adjust.New(o)
}
