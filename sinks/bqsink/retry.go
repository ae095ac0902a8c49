package bqsink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"google.golang.org/api/googleapi"
)

// This file is the only layer of retries of calls: once keeps the client from retrying. Two cases are left to others. The
// client repeats a chunk of a resumable upload for up to 32 s, because it alone knows the session. And net/http repeats a
// request when the connection turns out to have been closed before the request was sent.

const (
	mostTries  = 8 // of an error that passes in seconds; a minute in all, on average
	firstPause = time.Second
	mostPause  = 32 * time.Second // https://cloud.google.com/bigquery/sla, Back-off Requirements

	// A daily quota refills a little every few minutes (https://cloud.google.com/bigquery/quotas#quota-replenishment).
	firstQuotaPause = 5 * time.Minute
	mostQuotaPause  = time.Hour
	mostQuotaTries  = 6 // when the context has no deadline; three hours in all, on average
)

// A remedy says whether a retry helps against an error, and after how long.
type remedy int

const (
	nothing remedy = iota // a retry doesn't help
	seconds               // an ordinary retry
	hours                 // a retry once the quota has refilled
)

// remedies maps the reasons of BigQuery's errors (https://cloud.google.com/bigquery/docs/error-messages) to remedies. An error
// with any other reason isn't retried.
var remedies = map[string]remedy{
	"backendError": seconds, "internalError": seconds, "rateLimitExceeded": seconds, "quotaExceeded": hours,
}

// remedyFor returns the remedy for an error. An answer that doesn't come from BigQuery itself counts as a lost answer.
func remedyFor(err error) remedy {
	var job *JobError
	var answer *googleapi.Error
	var transport *url.Error
	var socket *net.OpError
	switch {
	case errors.Is(err, errSource), tokenRefused(err):
		return nothing
	case errors.As(err, &job):
		return remedies[job.Reason]
	case errors.As(err, &answer):
		if r, known := remedies[reason(answer)]; known {
			return r
		}
		if slices.Contains(unclear, answer.Code) {
			return seconds
		}
		return nothing
	case errors.As(err, &transport), errors.As(err, &socket), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return seconds
	}
	return nothing
}

// unclear are the statuses that proxies on the way answer with, without a reason.
var unclear = []int{
	http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable,
	http.StatusGatewayTimeout,
}

// patience counts the tries of one call or job.
type patience struct{ tries, quotaTries int }

// again waits until the next try is due. It returns an error when there should be none.
func (p *patience) again(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil {
		if errors.Is(err, ended) {
			return err
		}
		return fmt.Errorf("%w, after: %w", ended, err)
	}
	var pause time.Duration
	switch remedyFor(err) {
	case nothing:
		return err
	case seconds:
		if p.tries++; p.tries >= mostTries {
			return fmt.Errorf("%w (tries: %d)", err, p.tries)
		}
		most := min(firstPause<<(p.tries-1), mostPause)
		pause = rand.N(most) // full jitter: calls that failed together don't come back together
	case hours:
		p.quotaTries++
		most := min(firstQuotaPause<<(p.quotaTries-1), mostQuotaPause)
		pause = most/2 + rand.N(most/2)
		deadline, ok := ctx.Deadline()
		if (ok && time.Until(deadline) < pause) || (!ok && p.quotaTries > mostQuotaTries) {
			return fmt.Errorf("%w (tries: %d; no time is left to wait for the quota to refill)", err, p.quotaTries)
		}
	}
	if ended := sleep(ctx, pause); ended != nil {
		return fmt.Errorf("%w, after: %w", ended, err)
	}
	return nil
}

// repeat calls until the call succeeds, or fails in a way that a retry can't change.
func repeat(ctx context.Context, call func() error) error {
	var p patience
	for {
		err := plain(call())
		if err == nil {
			return nil
		}
		if err := p.again(ctx, err); err != nil {
			return err
		}
	}
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
