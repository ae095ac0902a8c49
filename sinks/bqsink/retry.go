package bqsink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
	"google.golang.org/api/googleapi"

	"github.com/reportferry/reportferry/sinks"
)

// This file is the only layer of retries of calls: singleTry keeps the client from retrying. Two
// cases are left to others. The client repeats a chunk of a resumable upload for up to 32 s,
// because it alone knows the session. And net/http repeats a request when the connection turns out
// to have been closed before the request was sent.

const (
	mostTries  = 8 // of an error that passes in seconds; a minute in all, on average
	firstPause = time.Second
	mostPause  = 32 * time.Second // https://cloud.google.com/bigquery/sla, Back-off Requirements

	// A daily quota refills a little every few minutes
	// (https://cloud.google.com/bigquery/quotas#quota-replenishment).
	firstQuotaPause = 5 * time.Minute
	mostQuotaPause  = time.Hour
	mostQuotaTries  = 6 // when the context has no deadline; three hours in all, on average
)

// A remedy says whether a retry helps against an error, and after how long.
type remedy int

const (
	noRetry        remedy = iota // a retry doesn't help
	retryInSeconds               // an ordinary retry
	retryInHours                 // a retry once the quota has refilled
)

// remedies maps the reasons of BigQuery's errors
// (https://cloud.google.com/bigquery/docs/error-messages) to remedies. An error with any other
// reason isn't retried.
var remedies = map[string]remedy{
	"backendError": retryInSeconds, "internalError": retryInSeconds, "rateLimitExceeded": retryInSeconds,
	"quotaExceeded": retryInHours,
}

// remedyFor returns the remedy for an error. An answer that doesn't come from BigQuery itself
// counts as a lost answer.
func remedyFor(err error) remedy {
	var job *JobError
	var answer *googleapi.Error
	var transport *url.Error
	var socket *net.OpError
	switch {
	case errors.Is(err, errSource), tokenRefused(err):
		return noRetry
	case errors.As(err, &job):
		return remedies[job.Reason]
	case errors.As(err, &answer):
		if r, known := remedies[reason(answer)]; known {
			return r
		}
		if slices.Contains(proxyStatuses, answer.Code) {
			return retryInSeconds
		}
		return noRetry
	case errors.As(err, &transport), errors.As(err, &socket), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, io.EOF):
		return retryInSeconds
	}
	return noRetry
}

// proxyStatuses are the statuses that proxies on the way answer with, without a reason.
var proxyStatuses = []int{
	http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable,
	http.StatusGatewayTimeout,
}

// A policy says how long to wait after the last error of one call or job. The error's remedy says
// which of two scales counts: seconds, or hours for a quota.
type policy struct {
	ctx                 context.Context
	last                error
	tries, quotaTries   int
	pauses, quotaPauses backoff.BackOff
}

// Reset does nothing, because each call has a policy of its own.
func (p *policy) Reset() {}

// NextBackOff returns the next pause, or Stop. If the tries or the time are used up, it adds that
// to the error in last.
func (p *policy) NextBackOff() time.Duration {
	switch remedyFor(p.last) {
	case retryInSeconds:
		if p.tries++; p.tries < mostTries {
			return p.pauses.NextBackOff()
		}
		p.last = fmt.Errorf("%w (tries: %d)", p.last, p.tries)
	case retryInHours:
		p.quotaTries++
		pause := p.quotaPauses.NextBackOff()
		deadline, bounded := p.ctx.Deadline()
		if bounded && time.Until(deadline) >= pause || !bounded && p.quotaTries <= mostQuotaTries {
			return pause
		}
		p.last = fmt.Errorf("%w (tries: %d; no time is left to wait for the quota to refill)", p.last, p.quotaTries)
	}
	return backoff.Stop
}

// repeat calls until the call succeeds, or fails in a way that a retry can't change.
func repeat(ctx context.Context, call func() error) error {
	p := &policy{ctx: ctx, pauses: sinks.Pauses(firstPause, mostPause, 0),
		quotaPauses: sinks.Pauses(firstQuotaPause, mostQuotaPause, 0.5)}
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		p.last = unhide(call())
		return struct{}{}, p.last
	}, backoff.WithBackOff(p), backoff.WithMaxElapsedTime(0))
	if ended := ctx.Err(); err != nil && ended != nil && !errors.Is(p.last, ended) {
		return fmt.Errorf("%w, after: %w", ended, p.last)
	}
	return p.last
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// reason returns the first reason that an answer gives, or "".
func reason(answer *googleapi.Error) string {
	if len(answer.Errors) == 0 {
		return ""
	}
	return answer.Errors[0].Reason
}

func hasStatus(err error, status int) bool {
	var answer *googleapi.Error
	return errors.As(err, &answer) && answer.Code == status
}
