package emulator

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/facts"
)

// AccountID is the only account the emulator knows; X-Account-ID with another value is
// answered 403.
const AccountID = "100001"

// Options configures a Server. The zero value is a service of 12 apps and 120 days without faults.
type Options struct {
	Seed     int64            // of all data; 0 means 7
	Apps     int              // number of apps, default 12, at most 1000
	Days     int              // days that have data, ending today by Now, default 120; other days are empty
	Token    string           // the one accepted Bearer token; "" accepts any that isn't empty
	Now      func() time.Time // clock of the data, default time.Now (fake inside testing/synctest)
	Rate     float64          // requests a second for reports from an address, default 50; negative means no limit
	Burst    int              // size of the token bucket, default 100
	MaxPairs int              // a report over more day-app pairs is answered 504; 0 means no limit
	Latency  time.Duration    // waited before the first byte of every answer, the admin calls' excepted
	Bulk     int              // > 0: csv_report streams that many made-up rows without SQL, the other reports are 400
	Faults   []Fault          // scripted faults, see Fault
	// A file that keeps all data. It is made when missing; one that exists has its own first day.
	// "" keeps nothing. The key of its vault is beside it, in a file whose name ends with .key.
	DB     string
	Logger *slog.Logger // default: discard
	// Whether names of apps, events, networks and campaigns are hard to read: with line breaks,
	// quotes, formulas, and in many scripts.
	Hostile bool
	// What the service does where the interface document leaves it open, such as "app-absent=404":
	// see the package reading.
	Readings []string

	// Keys that /cost takes, and the network whose spend each may post, "" for any network. If
	// there are none, it takes any key.
	Partners map[string]string
	// Header that has the key as its value; by default Authorization, where it is a Bearer token.
	SpendHeader string
	OpenSpend   bool // /cost asks for no key

	// Bearer tokens of /third_party_sharing, and the app that each is for, "" for any app. Requests
	// for an app without a token need none.
	SharingTokens   map[string]string
	SharingPartners []string // what settings may name besides the thirteen partners of the channel setup

	// Bearer tokens with the roles of their users. If there are any, no other token is let in but
	// Token, which is an Admin's.
	Tokens       map[string]Role
	NoAutomation bool   // app automation isn't enabled for the account
	Template     string // token of the template app, "": the first app's
	NoTemplate   bool   // the account has no template app
	// How long each step of a job takes by Now; 0: no time; negative: only AdvanceTickets makes
	// jobs take steps.
	TicketStep time.Duration
	JobFaults  []JobFault // what fails in jobs, see JobFault
}

// withDefaults returns the options with their defaults filled in. An error says which is wrong.
func (o Options) withDefaults() (Options, error) {
	if o.Seed == 0 {
		o.Seed = 7
	}
	if o.Apps == 0 {
		o.Apps = 12
	}
	if o.Days == 0 {
		o.Days = 120
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rate == 0 {
		o.Rate = 50
	}
	if o.Burst == 0 {
		o.Burst = 100
	}
	o.SpendHeader = http.CanonicalHeaderKey(cmp.Or(o.SpendHeader, "Authorization"))
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Apps < 1 || o.Apps > facts.MaxApps {
		return o, fmt.Errorf("%d apps, want 1 to %d", o.Apps, facts.MaxApps)
	}
	if o.Days < 1 || o.MaxPairs < 0 || o.Burst < 1 || o.Latency < 0 || o.Bulk < 0 {
		return o, fmt.Errorf("days and burst must be at least 1, max pairs, latency and bulk not negative")
	}
	for _, role := range o.Tokens {
		if err := role.validate(); err != nil {
			return o, err
		}
	}
	return o, nil
}
