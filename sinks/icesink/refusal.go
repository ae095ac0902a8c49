package icesink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"

	"github.com/reportferry/reportferry/sinks"
)

// The limits of repeat.
const (
	mostTries   = 8 // with errors that pass in seconds, such as a restart; about a minute in all, on average
	firstPause  = 500 * time.Millisecond
	mostPause   = 16 * time.Second
	mostRaces   = 60                    // conflicts with others who commit to the same table
	firstRace   = 50 * time.Millisecond // the pause after the first conflict
	longestRace = 4 * time.Second       // the longest pause between conflicts
)

// repeat repeats a call until it succeeds, or fails in a way that another try can't change. It is
// the only layer of retries around a catalog. It allows more conflicts than other failures, because
// with each conflict another commit to the table has succeeded.
func (s *Sink) repeat(ctx context.Context, call func() error) error {
	tries, races := sinks.Pauses(firstPause, mostPause, 0), sinks.Pauses(firstRace, longestRace, 0)
	for failed, lost := 0, 0; ; {
		err := call()
		var pause time.Duration
		switch {
		case err == nil || ctx.Err() != nil || !retryable(err):
			return err
		case errors.Is(err, errConflict):
			if lost++; lost == mostRaces {
				return fmt.Errorf("%w, %d times in a row", err, lost)
			}
			pause = races.NextBackOff()
		default:
			if failed++; failed == mostTries {
				return err
			}
			pause = tries.NextBackOff()
		}
		var busy *tooManyRequests
		if errors.As(err, &busy) {
			pause = max(pause, busy.retryAfter)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w, after: %w", ctx.Err(), err)
		case <-time.After(pause):
		}
	}
}

// refused reports whether a catalog's answer means that it did nothing.
func refused(err error) bool {
	return errors.As(err, new(*tooManyRequests)) || errors.Is(err, rest.ErrBadRequest) ||
		errors.Is(err, rest.ErrUnauthorized) || errors.Is(err, rest.ErrForbidden) ||
		errors.Is(err, catalog.ErrNoSuchTable)
}

// retryable reports whether another try may help. It knows each layer's errors: those of this
// package, of REST catalogs, of catalogs in a database, and of the network.
func retryable(err error) bool {
	var dialled *net.OpError
	var unknown *net.DNSError
	switch {
	case errors.Is(err, errSource), errors.Is(err, context.Canceled), errors.Is(err, sinks.ErrConflict):
		return false
	case errors.As(err, new(*tooManyRequests)), errors.Is(err, errConflict), errors.Is(err, rest.ErrCommitStateUnknown),
		errors.Is(err, rest.ErrServerError), errors.Is(err, rest.ErrServiceUnavailable):
		return true
	case errors.As(err, &unknown) && unknown.IsNotFound:
		return false
	}
	var database interface{ SQLState() string }
	if errors.As(err, &database) {
		return retryableStates[database.SQLState()] || strings.HasPrefix(database.SQLState(), "08")
	}
	text := err.Error()
	return errors.As(err, &dialled) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) ||
		errors.Is(err, context.DeadlineExceeded) ||
		strings.Contains(text, "database is locked") || strings.Contains(text, "UNIQUE constraint failed") ||
		strings.Contains(text, "connection reset by peer")
}

// retryableStates are the codes of errors of a catalog's Postgres that pass by themselves, or in
// another transaction (https://www.postgresql.org/docs/current/errcodes-appendix.html).
var retryableStates = map[string]bool{
	"57P01": true, "57P02": true, "57P03": true, // the server stops, has crashed, or is starting
	"53300": true,                // too many connections
	"40001": true, "40P01": true, // a conflict with another transaction
	"23505": true, "42P07": true, "42710": true, // another process has created the same thing at the same time
}

// explain returns an error in one line without secrets, and adds advice where the reason is known.
func (s *Sink) explain(err error) error {
	var known *sinks.Refusal
	if err == nil || errors.As(err, &known) {
		return err
	}
	text := err.Error()
	var at *url.Error
	if errors.As(err, &at) { // the address may have what is secret in it
		text = strings.ReplaceAll(text, at.URL, sinks.Redact(at.URL))
	}
	for key, value := range s.properties {
		if secret(key) {
			text = strings.ReplaceAll(text, value, "...")
		}
	}
	text = strings.Join(strings.Fields(text), " ")
	denied := errors.Is(err, rest.ErrUnauthorized) || errors.Is(err, rest.ErrForbidden) ||
		errors.Is(err, rest.ErrOAuthError)
	if advice := s.advice(err); advice != "" {
		text += "; " + advice
	}
	return &sinks.Refusal{Text: text, Cause: err, Denied: denied}
}

// secret reports whether the value of a configuration key is a secret.
func secret(key string) bool {
	for _, word := range []string{"credential", "token", "secret", "jsonkey", "account.key", "connection-string",
		"header."} {
		if strings.Contains(key, word) {
			return true
		}
	}
	return false
}

// advice returns what a person can do about an error, or "".
func (s *Sink) advice(err error) string {
	namespace := strings.Join(s.namespace, ".")
	switch {
	case errors.Is(err, rest.ErrUnauthorized), errors.Is(err, rest.ErrOAuthError):
		return "the catalog takes credential=ID:SECRET or token=TOKEN in the sink's URL, as ${NAME} of an " +
			"environment variable"
	case errors.Is(err, rest.ErrForbidden):
		return fmt.Sprintf("who loads needs the rights to make and change tables, and to read their properties, in "+
			"the namespace %s", namespace)
	case errors.Is(err, catalog.ErrNoSuchNamespace):
		return fmt.Sprintf("make the namespace %s, or give who loads the right to", namespace)
	}
	return ""
}
