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

// This file is the only layer of retries of calls; once keeps the client's own from them. Two things are left to others: a
// chunk of a resumable upload is sent again by the client for up to 32 s, within the one session that only it knows, and
// net/http sends a request again that went down a connection which had been closed before it.

const (
	mostTries  = 8 // of what passes in seconds: a minute in all, on average
	firstPause = time.Second
	mostPause  = 32 * time.Second // https://cloud.google.com/bigquery/sla, Back-off Requirements

	// A quota refills all day long, a little every few minutes (https://cloud.google.com/bigquery/quotas#quota-replenishment).
	firstQuotaPause = 5 * time.Minute
	mostQuotaPause  = time.Hour
	mostQuotaTries  = 6 // without a deadline: three hours in all, on average
)

// A remedy is what helps against an error.
type remedy int

const (
	nothing remedy = iota
	seconds        // asking again soon
	hours          // asking again much later
)

// remedies are by the reasons that BigQuery gives (https://cloud.google.com/bigquery/docs/error-messages). No other is
// tried again.
var remedies = map[string]remedy{
	"backendError": seconds, "internalError": seconds, "rateLimitExceeded": seconds, "quotaExceeded": hours,
}

// remedyFor looks at what came back. An answer that is no answer of BigQuery, or none at all, is a lost one.
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

// unclear are the statuses of servers on the way, whose answers have no reasons.
var unclear = []int{
	http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable,
	http.StatusGatewayTimeout,
}

// patience counts the tries of one thing.
type patience struct{ tries, quotaTries int }

// again waits until it is time to try again. Else it gives the error that ends the trying.
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
		pause = rand.N(most) // the whole of it is jitter, so that many that failed at once don't come back at once
	case hours:
		p.quotaTries++
		most := min(firstQuotaPause<<(p.quotaTries-1), mostQuotaPause)
		pause = most/2 + rand.N(most/2)
		deadline, ok := ctx.Deadline()
		if (ok && time.Until(deadline) < pause) || (!ok && p.quotaTries > mostQuotaTries) {
			return fmt.Errorf("%w (tries: %d; there is no time to wait for more of the quota)", err, p.quotaTries)
		}
	}
	if ended := sleep(ctx, pause); ended != nil {
		return fmt.Errorf("%w, after: %w", ended, err)
	}
	return nil
}

// repeat makes a call until it is answered in a way that asking again doesn't change.
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

// reason is the first that an answer gives.
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
