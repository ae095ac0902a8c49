package main

import (
	"context"
	"fmt"
	"os"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/sharing"
)

// sharingJob makes a sharing job from its config entry.
func sharingJob(ctx context.Context, e *engine, c config.Job) (jobs.Job, error) {
	s := c.Sharing
	p, err := e.pushing(ctx, c, s.Push)
	if err != nil {
		return jobs.Job{}, err
	}
	o := sharing.Options{
		Options: p, Columns: s.Columns, Constants: s.Constants, Ignore: s.Ignore, Partners: sharing.NewPartners(s.Partners),
		SendLate: s.SendLate, ShowIDs: e.ask.showIDs,
	}
	if e.run != "" { // else nothing is sent
		if o.Client, err = e.sharingClient(ctx, s); err != nil {
			return jobs.Job{}, fmt.Errorf("job %s: %w", c.Name, err)
		}
	}
	return jobs.Job{Name: c.Name, Table: c.Table, Kind: sharing.New(o)}, nil
}

// sharingClient makes the client of the host of third-party sharing: with a limiter of its own, and never with the API
// token. Apps that ask for no credential are sent none.
func (e *engine) sharingClient(ctx context.Context, s *config.Sharing) (*adjust.Client, error) {
	service := e.config.Service
	o := e.pushClient(s.Push)
	o.S2SURL = service.S2SURL
	if service.Embedded {
		o.S2SURL = "http://embedded"
	}
	if service.Sharing.Token != "" {
		var err error
		if o.SharingAuth, err = login(ctx, service.Sharing, "sharing", os.Getenv); err != nil {
			return nil, err
		}
	}
	return adjust.New(o)
}
