package main

import (
	"context"
	"fmt"
	"os"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/spend"
)

// spendJob makes a spend job from its config entry.
func spendJob(ctx context.Context, e *engine, c config.Job) (jobs.Job, error) {
	s := c.Spend
	p, err := e.pushing(ctx, c, s.Push)
	if err != nil {
		return jobs.Job{}, err
	}
	o := spend.Options{
		Options: p, Columns: s.Columns.Map(), Constants: s.Constants.Map(), More: s.Currencies, Zone: p.Shelf.Zone,
		SendConflicts: s.SendOther,
	}
	if e.run != "" { // else nothing is sent
		if o.Client, err = e.spendClient(ctx, s); err != nil {
			return jobs.Job{}, fmt.Errorf("job %s: %w", c.Name, err)
		}
	}
	return jobs.Job{Name: c.Name, Table: c.Table, Kind: spend.New(o)}, nil
}

// spendClient makes the client of the ad spend host: with a limiter of its own, and never with the API token.
func (e *engine) spendClient(ctx context.Context, s *config.Spend) (*adjust.Client, error) {
	service := e.config.Service
	o, key, getenv := e.pushClient(s.Push), service.Spend, os.Getenv
	o.CostURL = service.CostURL
	if service.Embedded {
		o.CostURL, key.Token = "http://embedded", "${KEY}"
		getenv = func(string) string { return "embedded" }
	}
	var err error
	if o.SpendAuth, err = login(ctx, key, "spend", getenv); err != nil {
		return nil, err
	}
	return adjust.New(o)
}
