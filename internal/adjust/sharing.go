package adjust

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/reportferry/reportferry/internal/adjust/transport"
	"github.com/reportferry/reportferry/internal/lazy"
)

// ErrPartly means that the service found a part of a record of third-party sharing invalid (202),
// and has applied the others. It is a *PartialError too.
var ErrPartly = errors.New("only a part is applied")

// A PartialError has the service's words about the parts of a record that it didn't apply.
type PartialError struct {
	Words string // shortened, on one line, without the device's IDs
}

func (e *PartialError) Error() string { return ErrPartly.Error() }

// Refusal returns why the service didn't take all of the record.
func (e *PartialError) Refusal() string {
	if e.Words == "" {
		return "the service took a part of it, and doesn't say which"
	}
	return "the service took a part of it: " + e.Words
}

// Is makes every PartialError an ErrPartly.
func (e *PartialError) Is(target error) bool { return target == ErrPartly }

// Sharing is one device's choice about its data, as it is sent: nothing is checked or changed here,
// and empty fields aren't sent. The service wants an app token, at least one of the two IDs, and
// one of the last three fields.
type Sharing struct {
	AppToken string
	GPSAdID  string // Android's advertising ID; in no error and no log
	IDFA     string // Apple's; in no error and no log
	Choice   string // enable or disable, for all partners
	// Partners is partner_sharing_settings, a JSON object {"<partner>": {"<metric>": true|false}}.
	Partners string
	// Options is granular_third_party_sharing_options, a JSON object {"<group>": {"<key>":
	// "<text>"}}.
	Options string
}

// ShareThirdParty sends one record: POST {s2s_url}/third_party_sharing, all of it in a form. The
// error is nil when the service has applied all of it, which a 200, a 201 and a 204 say, whatever
// is in them.
//
// Other answers:
//
//   - A 202 is ErrPartly.
//   - A 400, 413, 422 and 451 are ErrRejected, as are a 403 and a 404 whose words are about the app
//     or the device, and a record of more than 1 MiB, which isn't sent.
//   - A 401 and any other 403 are ErrAuth, and so are a 202 and a 400 whose words are about the
//     credential. The credential is read again once.
//   - After anything else the record is sent again, as often as Attempts and for as long as
//     Patience say, even if an attempt may have been applied: the same choice twice is the same,
//     and no other record of the device may be sent meanwhile.
//
// The caller has to see to the order of a device's records. A record that is given up is ErrUnknown
// when any of its attempts may have been applied; the caller has to send it again before the
// device's next record. All errors are an *Error.
func (c *Client) ShareThirdParty(ctx context.Context, s Sharing) (Answer, error) {
	if c.sharing == nil {
		return Answer{}, &Error{Op: sharingOp, Err: errors.New("this client has no s2s_url")}
	}
	form := s.form()
	if len(form) > bodyLimit {
		why := fmt.Sprintf("it is %d bytes long, the service takes %d", len(form), bodyLimit)
		return Answer{}, &Error{Op: sharingOp, Err: fmt.Errorf("%s: %w", why, &rejectedError{why})}
	}
	return c.post(ctx, c.sharing, transport.Request{
		Op: sharingOp, Body: form, Hidden: []string{s.GPSAdID, s.IDFA}, Replacement: "[device id]",
		Repeat:  transport.Doubtful,
		Verdict: sharingError,
		Taken:   []int{http.StatusCreated, http.StatusNoContent},
	})
}

// sharingOp begins the errors of ShareThirdParty.
const sharingOp = "third_party_sharing"

// errSharingAuth is ErrAuth in the words of third-party sharing.
var errSharingAuth = &transport.Refusal{Text: "check the credential for s2s_url, the header that it is sent in, and " +
	"whether the app wants one", As: ErrAuth}

// aboutAuth matches words about the credential: those that a service that authenticates callers by
// an app's tokens is documented to say in a 202, where the record isn't applied at all, and those
// of a 401 in the general table of its endpoints (dev.adjust.com/en/api/s2s-api).
var aboutAuth = lazy.Regexp(
	`(?i)^(third party sharing failed \()?((missing|wrong) authentication token|failed to authorize request)\W*$`)

// aboutRecord matches what the service's server-to-server endpoints are documented to say, in a 403
// or a 404, of one app or one device: "App is inactive", "Tracking disabled", "App token not
// found", "Device not found". Another 403 is about the credential, and another 404 about the
// address, and so they aren't errors of the record.
var aboutRecord = lazy.Regexp(
	`(?i)\b(app|device)\b.*\b(not found|inactive|disabled|unknown|opted out)\b|\btracking (is )?disabled\b`)

// sharingError returns the error of an answer whose words say what became of the record, or nil for
// any other answer.
func sharingError(status int, words string) error {
	switch status {
	case http.StatusAccepted, http.StatusBadRequest, http.StatusUnprocessableEntity:
		if slices.ContainsFunc(textsOf(words), aboutAuth().MatchString) {
			return errSharingAuth
		}
		if status == http.StatusAccepted {
			return &PartialError{words}
		}
	case http.StatusRequestEntityTooLarge, http.StatusUnavailableForLegalReasons:
	case http.StatusForbidden, http.StatusNotFound:
		if transport.IsPage(words) || !aboutRecord().MatchString(words) {
			return nil
		}
	default:
		return nil
	}
	return newRejected(status, words)
}

// form returns the record as a form.
func (s Sharing) form() string {
	fields := make([]formField, 0, 7)
	fields = append(fields, formField{"s2s", "1"}) // always, says the service
	for _, f := range [...]formField{
		{"app_token", s.AppToken}, {"gps_adid", s.GPSAdID}, {"idfa", s.IDFA}, {"sharing", s.Choice},
		{"partner_sharing_settings", s.Partners}, {"granular_third_party_sharing_options", s.Options},
	} {
		if f.value != "" {
			fields = append(fields, f)
		}
	}
	return formOf(fields...)
}
