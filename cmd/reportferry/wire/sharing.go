package wire

import (
	"context"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/sharing"
)

// sharing makes a job of kind sharing.
func (s *Session) sharing(ctx context.Context, c config.Job, a PushAsk) (jobs.Job, error) {
	entry, service := c.Sharing, s.Config.Service
	p, client, err := s.pushParts(ctx, c, entry.Push, a, func(o *adjust.Options) (err error) {
		if o.S2SURL = service.S2SURL; service.Embedded {
			o.S2SURL = "http://embedded"
		}
		o.SharingAuth, err = login(ctx, service.Sharing, "sharing", s.getenv)
		return err
	})
	if err != nil {
		return jobs.Job{}, err
	}
	return jobs.Job{Name: c.Name, Table: c.Table, Kind: sharing.New(sharing.Options{
		Options: p, Client: client, Columns: entry.Columns, Constants: entry.Constants, Ignore: entry.Ignore,
		Partners:    sharing.NewPartners(entry.Partners),
		FormObjects: entry.Settings == "form_objects", SendLate: entry.OnLate == "send",
		RejectMalformed: entry.OnMalformedID == "reject", ShowIDs: a.ShowIDs,
	})}, nil
}
