package main

import (
	"context"
	"fmt"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/adjust/transport"
)

// pushClient is what the clients of hosts that records are pushed to have in common.
func (e *engine) pushClient(p config.Push) adjust.Options {
	service := e.config.Service
	o := adjust.Options{Options: transport.Options{
		Rate: p.Rate, Burst: max(1, int(p.Rate/4)), // of a quarter of a second: rate is what a person reckons with
		InFlight: p.InFlight, Share: e.task.share(), Attempts: service.Attempts, Patience: service.Patience,
		Logger: e.log, UserAgent: "reportferry/" + version(),
	}}
	if service.Embedded {
		o.HTTP = e.embedded.Client()
	}
	return o
}

// login reads a credential that is one for a host alone, before anything is claimed or sent. key names it in errors.
func login(ctx context.Context, l config.Login, key string, getenv func(string) string) (auth adjust.RecordAuth, err error) {
	auth.Header = l.Header
	if auth.Key, err = transport.ParseToken(l.Token, getenv); err == nil {
		_, err = auth.Key.Token(ctx)
	}
	if err != nil {
		return auth, fmt.Errorf("service.%s.token: %w", key, refused(err))
	}
	return auth, nil
}
