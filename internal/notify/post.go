package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// A Poster sends to addresses that are secrets. It follows no redirect, and its errors contain no
// part of the address.
type Poster struct{ http.Client }

// NewPoster makes a Poster.
func NewPoster() *Poster {
	return &Poster{http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}}
}

// Post sends content as JSON, or nothing when it is nil, with key as a bearer's token unless it is
// empty. After a 429 it tries again as long as ctx lasts: a service may take one message a second
// for a chat room to which several senders post at the same time.
func (p *Poster) Post(ctx context.Context, to, key string, content any) error {
	var body []byte
	if content != nil {
		var err error
		if body, err = json.Marshal(content); err != nil {
			return err
		}
	}
	for {
		wait, err := p.postOnce(ctx, to, key, body)
		if end, bounded := ctx.Deadline(); wait == 0 || bounded && time.Until(end) < wait {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

// postOnce sends one request, and returns how long to wait before the next attempt; 0: there is
// none.
func (p *Poster) postOnce(ctx context.Context, to, key string, body []byte) (time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return 0, errors.New("its address isn't understood")
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := p.Do(req)
	if err != nil {
		if failed, is := errors.AsType[*url.Error](err); is {
			err = failed.Err // its text has the address
		}
		return 0, err
	}
	// The body is read so that the connection is used again, and dropped because it may repeat the
	// address.
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16))
	_ = resp.Body.Close()
	if resp.StatusCode < http.StatusMultipleChoices {
		return 0, nil
	}
	err = fmt.Errorf("it answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	if resp.StatusCode != http.StatusTooManyRequests {
		return 0, err
	}
	asked, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	return time.Duration(max(1, min(asked, 3600)))*time.Second + rand.N(time.Second), err
}

// beatTime is how long a watcher may take. The run waits for it.
const beatTime = 3 * time.Second

// Heartbeat returns a function that tells a watcher of runs how a run is doing: what is start, ""
// for a success, or the exit code of a failure. The addresses are those of healthchecks.io, which
// others understand too (https://healthchecks.io/docs/http_api/). The function sends even when its
// context is over, and its errors don't say where the watcher is.
func (p *Poster) Heartbeat(address string) (func(ctx context.Context, what string) error, error) {
	at, err := url.Parse(address)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		// The address isn't shown: it may be a secret all the same.
		return nil, errors.New("heartbeat: what is referred to isn't an address such as https://hc-ping.com/UUID")
	}
	if err := requireEncryption(at); err != nil {
		return nil, fmt.Errorf("heartbeat: %w", err)
	}
	return func(ctx context.Context, what string) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatTime)
		defer cancel()
		to := at
		if what != "" {
			to = at.JoinPath(what)
		}
		return p.Post(ctx, to.String(), "", nil)
	}, nil
}
