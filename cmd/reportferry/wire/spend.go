package wire

import (
	"context"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/outbox/files"
	"github.com/reportferry/reportferry/jobs/spend"
)

// spend makes a job of kind spend.
func (s *Session) spend(ctx context.Context, c config.Job, a PushAsk) (jobs.Job, error) {
	entry, service := c.Spend, s.Config.Service
	p, client, err := s.pushParts(ctx, c, entry.Push, a, func(o *adjust.Options) (err error) {
		key, getenv := service.Spend, s.getenv
		if o.CostURL = service.CostURL; service.Embedded {
			o.CostURL, key.Token = "http://embedded", "${KEY}"
			getenv = func(string) string { return "embedded" }
		}
		o.SpendAuth, err = login(ctx, key, "spend", getenv)
		return err
	})
	if err != nil {
		return jobs.Job{}, err
	}
	f := entry.Format
	return jobs.Job{Name: c.Name, Table: c.Table, Kind: spend.New(spend.Options{
		Options: p, Client: client, Columns: entry.Columns, Constants: entry.Constants, More: entry.Currencies,
		Zone: p.Inbox.Zone, SendConflicts: entry.OnConflict == "send",
		Format: files.Format{Encoding: f.Encoding, Separator: files.Separators[f.Separator],
			Decimal: files.Decimals[f.Decimal], Thousands: files.Thousands[f.Thousands],
			Dates: f.Dates, Sheet: f.Sheet},
	})}, nil
}
