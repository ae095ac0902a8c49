package wire

import (
	"context"
	"fmt"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/outbox/files"
	"github.com/reportferry/reportferry/jobs/spend"
)

// spend makes a job of kind spend.
func (s *Session) spend(ctx context.Context, c config.Job, a PushAsk) (jobs.Job, error) {
	entry := c.Spend
	p, err := s.pushing(ctx, c, entry.Push, a)
	if err != nil {
		return jobs.Job{}, err
	}
	o := spend.Options{
		Options: p, Format: formatOf(entry.Format), Columns: entry.Columns, Constants: entry.Constants, More: entry.Currencies, Zone: p.Shelf.Zone,
		SendConflicts: entry.SendOther,
	}
	if s.RunID != "" { // only a run sends anything, and needs the credential
		if o.Client, err = s.spendClient(ctx, entry); err != nil {
			return jobs.Job{}, fmt.Errorf("job %s: %w", c.Name, err)
		}
		o.Client = s.watched(c.Name, o.Client)
	}
	return jobs.Job{Name: c.Name, Table: c.Table, Kind: spend.New(o)}, nil
}

// formatOf translates how files are written.
func formatOf(f config.Format) files.Format {
	return files.Format{Encoding: f.Encoding, Separator: files.Separators[f.Separator], Decimal: files.Decimals[f.Decimal], Thousands: files.Thousands[f.Thousands],
		Dates: f.Dates, Sheet: f.Sheet}
}

// spendClient makes the client of the ad spend host. It has a rate limit of its own and never sends the API token; without a
// token of its own it sends no credential at all.
func (s *Session) spendClient(ctx context.Context, entry *config.Spend) (*adjust.Client, error) {
	service := s.Config.Service
	o, key, getenv := s.pushClient(entry.Push), service.Spend, s.getenv
	o.CostURL = service.CostURL
	if service.Embedded {
		o.CostURL, key.Token = "http://embedded", "${KEY}"
		getenv = func(string) string { return "embedded" }
	}
	if key.Token != "" {
		var err error
		if o.SpendAuth, err = login(ctx, key, "spend", getenv); err != nil {
			return nil, err
		}
	}
	return adjust.New(o)
}
