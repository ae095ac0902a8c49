package adjust

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
)

// ErrPartly means that the service found a part of a record of third-party sharing invalid (202), and has applied the
// others. It is a *PartialError too.
var ErrPartly = errors.New("only a part is applied")

// A PartialError has the service's words about the parts of a record that it didn't apply.
type PartialError struct {
	Words string // shortened, on one line, without the device's IDs
}

func (e *PartialError) Error() string { return ErrPartly.Error() }

// Is makes every PartialError an ErrPartly.
func (e *PartialError) Is(target error) bool { return target == ErrPartly }

// Sharing is one device's choice about its data, as it is sent: nothing is checked or changed here, and nothing is sent
// of what is empty. The service wants an app token, at least one ID, and one of the three last.
type Sharing struct {
	AppToken string
	GPSAdID  string // Android's advertising ID; in no error and no log
	IDFA     string // Apple's; in no error and no log
	Choice   string // enable or disable, for all partners
	// Partners is partner_sharing_settings, a JSON object {"<partner>": {"<metric>": true|false}}.
	Partners string
	// Options is granular_third_party_sharing_options, a JSON object {"<group>": {"<key>": "<text>"}}.
	Options string
}

// ShareThirdParty sends one record: POST {s2s_url}/third_party_sharing, all of it in a form. It returns nil when the
// service has applied all of it.
//
// A 202 is ErrPartly, a 400 is ErrRejected, as is a record of more than 1 MiB, which isn't sent; 401 and 403 are ErrAuth, and so are a 202 and a 400 whose words are about the
// credential, which is read again once. All else is tried again, as often as Attempts and for as long as Patience say:
// also what may have left a trace, because the same choice twice is the same, and because no other record of the device
// may be sent meanwhile. That is the caller's business: what is given up is ErrUnknown when any of its tries may have
// been applied, and has to be sent again before the device's next record. All errors are an *Error.
func (c *Client) ShareThirdParty(ctx context.Context, s Sharing) error {
	if c.sharing == nil {
		return &Error{Op: sharingOp, Err: errors.New("this client has no s2s_url")}
	}
	form := s.form()
	if len(form) > bodyLimit {
		return &Error{Op: sharingOp, Err: fmt.Errorf("it is %d bytes long, the service takes %d: %w", len(form), bodyLimit, ErrRejected)}
	}
	return c.sharing.post(ctx, c, form, s.GPSAdID, s.IDFA)
}

const sharingOp = "third_party_sharing"

// errSharingAuth is ErrAuth in the words of third-party sharing.
var errSharingAuth = &refusal{"authentication or permission refused, check the credential for s2s_url, the header that it is sent in, and whether the app wants one", ErrAuth}

// aboutAuth is what a service that proves callers by an app's tokens is documented to say in a 202, where the record
// isn't applied at all, and what the general table of its endpoints says of a 401 (dev.adjust.com/en/api/s2s-api).
var aboutAuth = regexp.MustCompile(`(?i)^(third party sharing failed \()?((missing|wrong) authentication token|failed to authorize request)\W*$`)

// newSharingOutlet makes the outlet of s2s_url; nil when there is none.
func newSharingOutlet(o Options, at *url.URL) *outlet {
	if at == nil {
		return nil
	}
	return &outlet{
		op: sharingOp, at: at, auth: o.SharingAuth.canonical(), denied: errSharingAuth, blot: "[device id]", again: true,
		verdict: func(status int, words string) error {
			switch {
			case status != http.StatusAccepted && status != http.StatusBadRequest:
				return nil
			case aboutAuth.MatchString(words):
				return errSharingAuth
			case status == http.StatusAccepted:
				return &PartialError{words}
			}
			return ErrRejected
		},
	}
}

func (s Sharing) form() string {
	fields := make([]field, 0, 7)
	fields = append(fields, field{"s2s", "1"}) // always, says the service
	for _, f := range [...]field{
		{"app_token", s.AppToken}, {"gps_adid", s.GPSAdID}, {"idfa", s.IDFA}, {"sharing", s.Choice},
		{"partner_sharing_settings", s.Partners}, {"granular_third_party_sharing_options", s.Options},
	} {
		if f.value != "" {
			fields = append(fields, f)
		}
	}
	return formOf(fields...)
}
