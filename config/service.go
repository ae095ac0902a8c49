package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/config/shape"
	"github.com/reportferry/reportferry/config/strict"
)

// Service says where the service is and how gently to ask it.
type Service struct {
	Account   string        // the account's name under accounts; empty: the account of service itself
	Embedded  bool          // `service: embedded`: the emulator in this process; the addresses and the token are empty
	BaseURL   string        // automation and reporting host; empty only when all jobs push to other hosts
	S2SURL    string        // third-party sharing host; may be empty
	CostURL   string        // ad spend host; may be empty
	AccountID string        // sent as X-Account-ID; may be empty
	Token     string        // a reference: ${ENV}, ${file:/path} or a runtimevar URL; may be empty when BaseURL may be
	Rate      float64       // requests a second
	Burst     int           // requests at once after a quiet time
	InFlight  int           // requests at a time; 0: the client's default
	MaxURL    int           // bytes of a report's address
	Attempts  int           // tries of one request
	Patience  time.Duration // time for all tries of one request
	MaxAnswer Size          // most bytes of one report's answer, unpacked
	Spend     Login         // credential at CostURL; without a token none is sent
	Sharing   Login         // credential at S2SURL; without a token none is sent

	noBaseURL, noToken bool // the file's mapping lacks these keys
}

// Login is a credential for another host than that of reports. The service's document doesn't say
// how it is sent.
type Login struct {
	Token     string // a reference, as of Service
	Header    string // the HTTP header that carries it: Authorization as a Bearer token, any other one alone
	Parameter string // the parameter that carries it in place of a header; empty: the header does
}

const (
	embedded      = "embedded"
	embeddedBurst = 20 // requests at once: nobody else uses that emulator
)

// The service that commands ask when there is no config. A config has no such default. Here the
// name of the token's variable, ADJUST_TOKEN, says which host may get the token.
const (
	DefaultBaseURL  = "https://automate.adjust.com"
	DefaultTokenEnv = "ADJUST_TOKEN"
)

// DefaultService returns the service that commands ask when there is no config.
func DefaultService() Service {
	var s Service
	serviceObject(&s)
	s.BaseURL, s.Token = DefaultBaseURL, TokenOf(DefaultTokenEnv)
	return s
}

// TokenOf returns the reference to a token in an environment variable.
func TokenOf(env string) string { return "${" + env + "}" }

var serviceMapping = strict.ObjectOf(serviceObject)

// service reads the word embedded, or a mapping.
var service = strict.Shape[Service]{
	Read: func(d *strict.Decoder, n strict.Node, key string) (Service, bool) {
		v, _ := d.Scalar(n)
		word, isText := v.(string)
		if !isText {
			return serviceMapping.Read(d, n, key)
		}
		if word != embedded {
			d.Fail(n, "%s: want the word embedded, for made-up numbers, or the keys base_url and token, as in "+
				"{base_url: https://automate.adjust.com, token: \"${ADJUST_TOKEN}\"}", key)
		}
		var s Service
		serviceObject(&s)
		s.Embedded, s.Burst = true, embeddedBurst
		return s, true
	},
	Schema: func() *jsonschema.Schema {
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
			{Const: embedded, Description: "The emulator in this process, with made-up numbers. It needs no account."},
			serviceMapping.Schema(),
		}}
	},
}

// serviceObject describes the keys of service, which fill s. The addresses have no defaults,
// because the interface document leaves the hosts open, and a wrong host would be sent the token.
func serviceObject(s *Service) strict.Object {
	*s = Service{Rate: 10, Burst: 1, MaxURL: 6000, Attempts: 8, Patience: 15 * time.Minute, MaxAnswer: 1 << 30}
	return strict.Object{What: "service", Refused: otherServiceKeys, Fields: []strict.Field{
		strict.Optional("base_url", address, &s.BaseURL, "https://automate.adjust.com",
			"Host of reports and app automation. All but jobs of kind spend and sharing need it."),
		strict.Optional("s2s_url", address, &s.S2SURL, "https://s2s.adjust.com",
			"Host of third-party sharing. A job of kind sharing needs it."),
		strict.Optional("cost_url", address, &s.CostURL, "https://app.adjust.com",
			"Host of ad spend. A job of kind spend needs it."),
		strict.Optional("spend", login("spend"), &s.Spend, "",
			"The partner's credential at cost_url, where the service asks for one. The API token is never sent "+
				"there."),
		strict.Optional("sharing", login("sharing"), &s.Sharing, "",
			"The credential at s2s_url, for apps that ask for one. The API token is never sent there."),
		strict.Optional("account_id", strict.Word, &s.AccountID, "1234",
			"The account that is asked for, when the token's user has several."),
		shape.Place("token", token, &s.Token, "${ADJUST_TOKEN}",
			"Where the API token is kept, never the token itself. All but jobs of kind spend and sharing need it."),
		strict.Optional("rate", shape.PerSecond("requests"), &s.Rate, "10",
			"Requests a second, and no second has more of them, of all accounts together. The service takes 50 a "+
				"second from one address."),
		strict.Optional("burst", strict.Whole(1, 1000), &s.Burst, "20",
			"Requests that may be sent at once after a quiet time. More than 1 is for a service that allows more "+
				"requests than the rate in a second. Of several tasks each has 1."),
		strict.Optional("in_flight", strict.Whole(1, 1000), &s.InFlight, "4",
			"Requests at a time at most of an account, of all tasks together, and windows under way. Of reports "+
				"there are three at first, and one more after each ten answers; a service that is too slow for them "+
				"gets half as many."),
		strict.Optional("max_url", strict.Whole(1000, 64000), &s.MaxURL, "7500",
			"Bytes of a report's address at most. More metrics than it has room for are asked for in groups and "+
				"joined on the dimensions, and so are lists of apps."),
		strict.Optional("attempts", strict.Whole(1, 1000), &s.Attempts, "8",
			"How often one request is tried before it fails."),
		strict.Optional("patience", strict.Duration(time.Second), &s.Patience, "15m",
			"Time for all tries of one request and the waits between them, but for pauses that the service asks "+
				"for: these are waited out, up to this time for each of attempts."),
		strict.Optional("max_answer", size, &s.MaxAnswer, "2GiB",
			"How long the answer to one report may be, unpacked. Its parts are kept on the disk until they are put. "+
				"A longer one is asked for again by halves, down to one partition, then by app where the job names "+
				"its apps, and fails if that is too long, too."),
	}, Check: func(_ *strict.Decoder, _ strict.Node, at map[string]strict.Node) {
		s.noBaseURL, s.noToken = at["base_url"] == nil, at["token"] == nil
	}}
}

// A Size is a number of bytes.
type Size int64

// String returns the value as the file has it.
func (s Size) String() string {
	if s%(1<<30) == 0 {
		return strconv.FormatInt(int64(s)>>30, 10) + "GiB"
	}
	return strconv.FormatInt(int64(s)>>20, 10) + "MiB"
}

var size = strict.As(strict.Matching(strict.Expr(`^[1-9][0-9]{0,5}(MiB|GiB)$`), "a size such as 512MiB or 1GiB"),
	func(_ *strict.Decoder, _ strict.Node, _, s string) (Size, bool) {
		unit := Size(1 << 20)
		if strings.HasSuffix(s, "GiB") {
			unit = 1 << 30
		}
		v, err := strconv.ParseInt(s[:len(s)-len("MiB")], 10, 64)
		return Size(v) * unit, err == nil
	})

// login reads the block of the credential for another host. what is the block's key, spend or
// sharing.
func login(what string) strict.Shape[Login] {
	return strict.ObjectOf(func(l *Login) strict.Object {
		*l = Login{Header: "Authorization"}
		fields := []strict.Field{
			shape.Mandatory(shape.Place("token", token, &l.Token, "${file:/run/secrets/partner}",
				"Where the credential is kept, never the credential itself.")),
			strict.Optional("header", headerName, &l.Header, "X-Partner-Key",
				"HTTP header that carries the credential. Authorization carries it as a Bearer token, any other "+
					"header alone."),
		}
		if what == "spend" {
			fields = append(fields, strict.Optional("parameter", parameterName, &l.Parameter, "partner_key",
				"Parameter that carries the credential in place of a header, beside those of the record. Which form "+
					"the service wants wasn't tried."))
		}
		return strict.Object{What: what, Fields: fields, Check: func(d *strict.Decoder, _ strict.Node,
			at map[string]strict.Node) {
			switch {
			case at["header"] != nil && at["parameter"] != nil:
				d.Fail(at["parameter"],
					"parameter: the credential is sent in one place, and header names it: leave one of the two out")
			case slices.Contains(recordParameters, l.Parameter):
				d.Fail(at["parameter"], "parameter: %s is one of the record's own", l.Parameter)
			}
		}}
	})
}

// recordParameters are the parameters of a record of ad spend. Source: the interface document, 4.4.
var recordParameters = []string{"cost_type", "cost_currency", "cost_amount", "cost_id", "tag"}

var parameterName = strict.Matching(strict.Expr(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`), "the name of a parameter")

var headerName = strict.Matching(strict.Expr(`^[A-Za-z][A-Za-z0-9-]{0,63}$`), "the name of an HTTP header")

// token reads a reference to a token: an environment variable, a file, or a runtimevar URL. It
// refuses constant://, which would have the token in the config itself.
var token = strict.Reference(tokenForm,
	"a reference, never the token itself: ${NAME} of an environment variable, ${file:/path}, or a "+
		"gcpsecretmanager://, awssecretsmanager://, azurekeyvault://, hashivault:// or file:// URL")

// secretAddress reads a reference to an address that is a secret, because whoever knows it can send
// messages in the name of this program.
var secretAddress = strict.Reference(tokenForm,
	"a reference, never the address itself, which is a secret: ${NAME} of an environment variable, ${file:/path}, "+
		"or a gcpsecretmanager://, awssecretsmanager://, azurekeyvault://, hashivault:// or file:// URL")

var tokenForm = strict.Expr(
	`^(\$\{[A-Za-z_][A-Za-z0-9_]*\}|\$\{file:[^}]+\}|(gcpsecretmanager|awssecretsmanager|azurekeyvault|hashivault|file)://\S+)$`)

// RefersToToken tells whether a text is a reference to a token.
func RefersToToken(text string) bool { return tokenForm.MatchString(text) }

// address reads a host's URL.
var address = strict.Shape[string]{
	Read: strict.As(strict.Text, func(d *strict.Decoder, n strict.Node, key, s string) (string, bool) {
		host, err := Address(s)
		if err != nil {
			d.Fail(n, "%s: %v", key, err)
		}
		return host, err == nil
	}).Read,
	Schema: func() *jsonschema.Schema {
		return &jsonschema.Schema{
			Type: "string", Title: "an address such as https://host",
			Pattern: `^(https://[^/?#@]+|http://(localhost|127(\.[0-9]{1,3}){3}|\[[0-9A-Fa-f:.]+\])(:[0-9]*)?)(/[^?#]*)?$`,
		}
	},
}

// Address checks a host's URL, and returns it without a slash at its end. Plain http is allowed for
// this machine only. Errors don't repeat the URL, because people paste credentials into URLs.
func Address(s string) (string, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || (!strings.HasPrefix(s, "https://") && !strings.HasPrefix(s, "http://")):
		return "", errors.New("want an address with https:// in front of the host")
	case u.User != nil || strings.ContainsAny(s, "?#"):
		return "", errors.New("want scheme, host and path only; a credential belongs under token")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return "", fmt.Errorf("http would send the token in clear to %s; use https", u.Hostname())
	}
	return strings.TrimSuffix(s, "/"), nil
}

// loopback tells whether a host is this machine, where a token in clear text goes over no network.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}
