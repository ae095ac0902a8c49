package adjust

import (
	"context"
	"errors"
	"net/http"
	"net/url"
)

// Spend is one record of ad spend, as it is sent: nothing is checked or changed here.
type Spend struct {
	Type     string // cpc, cpi, cpe or cpm
	Currency string // ISO 4217, in lower case
	Amount   string // a plain decimal of at most five decimals
	CostID   string // 12 to 256 characters, unique for an engagement. It is in no error and no log
	Tag      string // at most 128 characters
}

// newSpendOutlet makes the outlet of cost_url; nil when nothing can be sent there.
func newSpendOutlet(o Options, at *url.URL) *outlet {
	if at == nil || o.SpendAuth.Key == nil {
		return nil
	}
	return &outlet{
		op: "cost", at: at, auth: o.SpendAuth.canonical(), denied: errSpendAuth, blot: "[cost_id]",
		verdict: func(status int, _ string) error {
			if status == http.StatusBadRequest {
				return ErrRejected
			}
			return nil
		},
	}
}

// errSpendAuth is ErrAuth in the words of ad spend.
var errSpendAuth = &refusal{"authentication or permission refused, check the partner's key for cost_url, the header that it is sent in, and what the partner may post for", ErrAuth}

// SubmitSpend sends one record and returns nil when the service has taken it.
//
// It tries again, as often as Attempts and for as long as Patience say, only after what surely left no trace: 429, 503, a
// 401 once after reading the key again, and a connection that never came about. After anything that may have left one it
// returns at once an error that is ErrUnknown: a connection that broke, a time-out, a cut answer, any other 5xx, a page
// of HTML, and the end of ctx while an answer was awaited. A 400 is ErrRejected, 401 and 403 are ErrAuth. Any other error
// means that the record wasn't taken. All errors are an *Error.
func (c *Client) SubmitSpend(ctx context.Context, s Spend) error {
	if c.spend == nil {
		return &Error{Op: "cost", Err: errors.New("this client has no cost_url, or no key for it")}
	}
	return c.spend.post(ctx, c, s.form(), s.CostID)
}

func (s Spend) form() string {
	return formOf(field{"cost_type", s.Type}, field{"cost_currency", s.Currency}, field{"cost_amount", s.Amount}, field{"cost_id", s.CostID}, field{"tag", s.Tag})
}
