package adjust

import (
	"context"
	"errors"
	"net/http"

	"github.com/reportferry/reportferry/internal/adjust/transport"
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
var errSpendAuth = &transport.Refusal{Text: "authentication or permission refused, check the partner's key for cost_url, the header that it is sent in, and what the partner may post for", As: ErrAuth}

// errSpendKey is ErrAuth where no key was sent.
var errSpendKey = &transport.Refusal{Text: "no credential was sent to cost_url, and the service asks for one; name it by service.spend.token, and by service.spend.header when it isn't a Bearer token", As: ErrAuth}

// SubmitSpend sends one record: POST {cost_url}/cost. The error is nil when the service has taken it.
//
// What surely left no trace is sent again, as often as Attempts and for as long as Patience say: after 429, 503, a 401 once
// after reading the key again, and a connection that never came about. Anything else may have left one: a connection that
// broke, a time-out, a cut answer, any other 5xx, a page of HTML, the end of ctx while an answer was awaited. After those
// the record is sent again only when resend is true, since the service has no rule for duplicates; what is given up then,
// or at once without resend, is ErrUnknown. A 400 is ErrRejected, 401 and 403 are ErrAuth. Any other error means that the
// record wasn't taken. All errors are an *Error. The answer's Resent counts the attempts that may have doubled the record.
func (c *Client) SubmitSpend(ctx context.Context, s Spend, resend bool) (Answer, error) {
	if c.spend == nil {
		return Answer{}, &Error{Op: "cost", Err: errors.New("this client has no cost_url")}
	}
	r := transport.Request{Op: "cost", Body: s.form(), Hidden: []string{s.CostID}, Blot: "[cost_id]", Repeat: transport.Once, Verdict: spendVerdict}
	if resend {
		r.Repeat = transport.Doubtful
	}
	return c.post(ctx, c.spend, r)
}

func spendVerdict(status int, words string) error {
	if status == http.StatusBadRequest {
		return rejected(status, words)
	}
	return nil
}

func (s Spend) form() string {
	return formOf(formField{"cost_type", s.Type}, formField{"cost_currency", s.Currency}, formField{"cost_amount", s.Amount},
		formField{"cost_id", s.CostID}, formField{"tag", s.Tag})
}
