package adjust

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/reportferry/reportferry/internal/adjust/transport"
	"github.com/reportferry/reportferry/internal/lazy"
)

// Spend is one record of ad spend, as it is sent: nothing is checked or changed here.
type Spend struct {
	Type     string // cpc, cpi, cpe or cpm
	Currency string // ISO 4217, in lower case
	Amount   string // a plain decimal of at most five decimals
	CostID   string // 12 to 256 characters, unique for an engagement. It is in no error and no log
	Tag      string // at most 128 characters
}

// errSpendAuth is ErrAuth in the words of ad spend.
var errSpendAuth = &transport.Refusal{Text: "check the partner's key for cost_url, the header or parameter that it " +
	"is sent in, and what the partner may post for", As: ErrAuth}

// errSpendKey is ErrAuth where no key was sent.
var errSpendKey = &transport.Refusal{Text: "no credential was sent to cost_url, and the service asks for one; name " +
	"it by service.spend.token, and by service.spend.header or service.spend.parameter when it isn't a Bearer token",
	As: ErrAuth}

// ErrDuplicate means that the service refuses a record of ad spend because it has one of the same
// Cost ID. It is an ErrRejected too.
var ErrDuplicate = errors.New("the service has a record of this cost_id already")

// A duplicateError is an ErrDuplicate with the service's words.
type duplicateError struct{ rejectedError }

func (e *duplicateError) Error() string { return ErrDuplicate.Error() }
func (e *duplicateError) Is(target error) bool {
	return target == ErrDuplicate || target == ErrRejected
}

// SubmitSpend sends one record: POST {cost_url}/cost. The error is nil when the service has taken
// it: 200, 201, 202, 204.
//
// Other answers, and failures:
//
//   - After an attempt that certainly wasn't taken the record is sent again, as often as Attempts
//     and for as long as Patience say: after a 429, a 503, a connection that never came about, and,
//     once and with the key read again, a 401.
//   - An attempt may have been taken after a connection that broke, a time-out, a cut answer, any
//     other 5xx, a page of HTML, or the end of ctx while an answer was awaited. After those the
//     record is sent again only when resend is true, since the service has no rule for duplicates.
//     A record that is given up then, or at once without resend, is ErrUnknown.
//   - A 400, a 422, and a 404 about the record are ErrRejected; 401 and 403 are ErrAuth.
//   - A 409, and a 400 that says that the Cost ID was used, are ErrDuplicate. But after an attempt
//     that may have been taken the error is nil, because they show that it was.
//   - Any other error means that the record wasn't taken.
//
// All errors are an *Error. The answer's Resent counts the attempts that may have doubled the
// record.
//
// The parameters are sent in a form, as the documents show it, until the service refuses a record
// as a form and takes it as a query. A key that is a parameter is sent with them, and a 401 may
// then mean that the service didn't read the form.
func (c *Client) SubmitSpend(ctx context.Context, s Spend, resend bool) (Answer, error) {
	if c.spend == nil {
		return Answer{}, &Error{Op: "cost", Err: errors.New("this client has no cost_url")}
	}
	r := transport.Request{Op: "cost", Hidden: []string{s.CostID}, Replacement: "[cost_id]", Repeat: transport.Once,
		Verdict: spendError, Taken: spendTaken}
	if resend {
		r.Repeat = transport.Doubtful
	}
	a, err := c.submitSpend(ctx, s.form(), r)
	if err != nil && a.Resent > 0 && errors.Is(err, ErrDuplicate) {
		return a, nil
	}
	return a, err
}

// spendTaken are the statuses beside 200 that mean that a record was taken. The documents have only
// 200, but a service that matches records later may as well answer 202 or 201.
var spendTaken = []int{http.StatusCreated, http.StatusAccepted, http.StatusNoContent}

// mostQueries is how many records may be refused both as a form and as a query, before it is
// concluded that the service wants forms.
const mostQueries = 3

// submitSpend sends a record in the way that the service is known to take, a form or a query, and
// finds out which it is: a refused form wasn't taken, so that a query is tried in its place. What
// an earlier attempt left in doubt stays in doubt. If both are refused, the error is that of the
// form.
func (c *Client) submitSpend(ctx context.Context, form string, r transport.Request) (Answer, error) {
	inQuery := func() (Answer, error) {
		q := r
		q.Method, q.URL, q.Header, q.Credential = http.MethodPost, c.spend.url+"?"+form, formHeader, c.spend.credential
		return c.transport.Do(ctx, q)
	}
	if c.spend.takesQuery.Load() {
		return inQuery()
	}
	r.Body = form
	a, err := c.post(ctx, c.spend, r)
	if err == nil {
		c.spend.queryTries.Store(mostQueries)
	}
	var e *Error
	// The 401 may mean that the service didn't read the form, which holds the key.
	unread := c.spend.credential.Parameter != "" && errors.As(err, &e) && e.Status == http.StatusUnauthorized
	if !unread && !errors.Is(err, ErrRejected) || errors.Is(err, ErrDuplicate) ||
		c.spend.queryTries.Load() >= mostQueries {
		return a, err
	}
	r.Body = ""
	second, failed := inQuery()
	second.Attempts += a.Attempts
	second.Resent += a.Resent
	second.Started = a.Started
	switch {
	case failed == nil, errors.Is(failed, ErrDuplicate):
		c.spend.takesQuery.Store(true)
	case errors.Is(failed, ErrAuth): // the query was read, and a person has to correct the credential
	case errors.As(failed, &e) && e.Status >= 400 && e.Status < 500 && e.Status != http.StatusTooManyRequests &&
		!errors.Is(failed, ErrUnknown):
		c.spend.queryTries.Add(1)
		return a, err
	}
	return second, failed
}

var (
	// aboutDuplicate matches what a service may say of a Cost ID that it has.
	aboutDuplicate = lazy.Regexp(
		`(?i)duplicat|\balready (been )?(used|exists?|submitted|received|registered|recorded|reported|processed|taken|known|sent|posted|stored|present)\b|\b(not|be) unique\b`)
	// aboutSpend matches the words of a 404 about a record; any other 404 is about the address.
	aboutSpend = lazy.Regexp(
		`(?i)\bcost[_ ]?id\b|\b(no|unknown) (such |known )?(engagement|click|impression)\b|\b(engagement|click|impression) (is |was )?(not |un)(found|known)\b`)
)

// spendError returns the error of an answer whose words say what became of the record, or nil for
// any other answer.
func spendError(status int, words string) error {
	switch status {
	case http.StatusConflict:
		return &duplicateError{rejectedError{refusalOf(status, words)}}
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		if aboutDuplicate().MatchString(words) {
			return &duplicateError{rejectedError{refusalOf(status, words)}}
		}
	case http.StatusNotFound:
		if strings.HasPrefix(words, "<") || !aboutSpend().MatchString(words) {
			return nil
		}
	default:
		return nil
	}
	return newRejected(status, words)
}

// form returns the record as a form.
func (s Spend) form() string {
	return formOf(formField{"cost_type", s.Type}, formField{"cost_currency", s.Currency},
		formField{"cost_amount", s.Amount},
		formField{"cost_id", s.CostID}, formField{"tag", s.Tag})
}
