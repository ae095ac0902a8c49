package report_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/emulator"
)

// The service's own channels are rows like others, two of which differ in upper and lower case
// alone, and codes of countries are kept in the case in which they come: what is published is what
// the service says.
func TestChannelsOfTheServiceItself(t *testing.T) {
	for _, choice := range []string{"country-code=upper", "country-code=lower"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, emulator.Options{Apps: 3, Days: 9, Readings: alone(choice)})
			defer r.close()
			r.start(6)
			r.options.Query.Dimensions = []string{"day", "channel", "network", "campaign", "campaign_id_network",
				"creative_id", "country_code"}
			r.ok()
			if n := r.equalsTruth(civil.DateOf(time.Now()).AddDays(-6), 6); n < 500 {
				t.Errorf("%s: %d cells were compared", choice, n)
			}
			seen, code := map[string]int{}, "|DE|"
			if choice == "country-code=lower" {
				code = "|de|"
			}
			for _, row := range r.contents() {
				channel, rest, _ := strings.Cut(row[len("2006-01-02|"):], "|")
				seen[channel]++
				if strings.Contains(rest, code) {
					seen["code"]++
				}
			}
			for _, channel := range []string{"Unknown", "unknown", "Untrusted Devices", "Unknown Devices",
				"Unknown Devices (restored hov7dx5a)",
				"Disabled Third Party Sharing Before Install", "Measurement Consent Updated Before Install",
				"Expired Attributions", "code"} {
				if seen[channel] == 0 {
					t.Errorf("%s: there are no rows of %s in %v", choice, channel, seen)
				}
			}
		})
	}
}
