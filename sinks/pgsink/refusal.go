package pgsink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/reportferry/reportferry/sinks"
)

// The limits of repeat.
const (
	mostTries  = 8 // attempts against errors that pass in seconds, as a restart does; about a minute in all, on average
	firstPause = time.Second
	mostPause  = 16 * time.Second
)

// lockNotAvailable is the SQLSTATE of a statement that lock_timeout ended.
const lockNotAvailable = "55P03"

// retryableStates has the SQLSTATEs of errors that pass by themselves, or when another transaction
// ends (https://www.postgresql.org/docs/current/errcodes-appendix.html).
var retryableStates = map[string]bool{
	"57P01": true, "57P02": true, "57P03": true, // the server stops, has crashed, or is starting
	"53300": true,                // too many connections
	"40001": true, "40P01": true, // another transaction was in the way
	lockNotAvailable: true,
	"25P03":          true, // the session was idle for too long: this process slept
}

// repeat repeats a call until it succeeds, or fails in a way that another attempt can't change. It
// is the only layer of retries.
func (s *Sink) repeat(ctx context.Context, call func() error) error {
	var last error
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		if last = call(); last != nil && (ctx.Err() != nil || !retryable(last)) {
			return struct{}{}, backoff.Permanent(last)
		}
		return struct{}{}, last
	}, backoff.WithBackOff(sinks.Pauses(firstPause, mostPause, 0)), backoff.WithMaxTries(mostTries),
		backoff.WithMaxElapsedTime(0))
	switch ended := ctx.Err(); {
	case err == nil || ended == nil:
		return err
	case last != nil && !errors.Is(last, ended): // pgx reports only that it has cut the connection
		return fmt.Errorf("%w, after: %w", ended, last)
	}
	return last
}

// retryable reports whether another attempt may help.
func retryable(err error) bool {
	var answer *pgconn.PgError
	var dialled *net.OpError
	var unknown *net.DNSError
	var unconnected *pgconn.ConnectError
	switch {
	case errors.Is(err, errSource):
		return false
	case errors.As(err, &answer):
		return retryableStates[answer.Code] || strings.HasPrefix(answer.Code, "08")
	case errors.As(err, &unknown) && unknown.IsNotFound:
		return false
	}
	return errors.As(err, &dialled) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) ||
		errors.Is(err, context.DeadlineExceeded) || pgconn.Timeout(err) ||
		pgconn.SafeToRetry(err) && !errors.As(err, &unconnected) // it reports true for a wrong certificate too
}

// sqlState returns the SQLSTATE of an error that Postgres answered with, or "".
func sqlState(err error) string {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return answer.Code
	}
	return ""
}

// explain puts an error into one line, and adds advice if the reason is known.
func (s *Sink) explain(err error) error {
	var known *sinks.Refusal
	if err == nil || errors.As(err, &known) {
		return err
	}
	text := err.Error()
	var answer *pgconn.PgError
	state := ""
	if errors.As(err, &answer) {
		state = answer.Code
		said := strings.TrimRight(answer.Message, ". \n")
		if answer.Detail != "" {
			said += "; " + strings.TrimRight(answer.Detail, ". \n")
		}
		text = strings.Replace(text, answer.Error(), fmt.Sprintf("Postgres answered %s: %s", state, said), 1)
	}
	attempts := strings.Split(text, "\n") // an error of connecting has a line for each, often the same
	for i, line := range attempts {
		attempts[i] = strings.Join(strings.Fields(line), " ")
	}
	text = strings.Join(slices.Compact(attempts), " ")
	if advice := s.advice(state); advice != "" {
		text += "; " + advice
	}
	return &sinks.Refusal{Text: text, Cause: err, Denied: denied[state]}
}

// denied has the SQLSTATEs of missing permissions, which errors.Is matches with fs.ErrPermission.
var denied = map[string]bool{"28000": true, "28P01": true, "42501": true}

// advice returns what a person can do about an error with this SQLSTATE, or "".
func (s *Sink) advice(state string) string {
	switch state {
	case "28000", "28P01":
		return "the user is in the sink's URL, or PGUSER; the password is in the URL as ${NAME} of an environment " +
			"variable, in PGPASSWORD, or in " +
			"the file that PGPASSFILE names; and pg_hba.conf of the server says who may come from where"
	case "42501":
		return fmt.Sprintf("the role that loads must own the job's table and %[1]s, or be a member of the role that "+
			"does, and may CREATE in the schema %[2]s; "+
			"ALTER TABLE ... OWNER TO hands a table over", loadsTable, s.schema)
	case "3D000":
		return "create the database first"
	case "53300":
		return fmt.Sprintf("each process of reportferry takes at most %d connections", mostConnections)
	case "53100":
		return "the server's disk is full"
	case "25006":
		return "this server takes no writes: is it a replica?"
	}
	return ""
}
