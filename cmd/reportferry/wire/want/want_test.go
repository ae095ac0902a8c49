package want

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"pgregory.net/rapid"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/config/draft"
)

func TestPlaces(t *testing.T) {
	for to, want := range map[string][2]string{
		"./out":                 {"file://./out", "file://./out/.reportferry"},
		"out":                   {"file://./out", "file://./out/.reportferry"},
		"out/":                  {"file://./out", "file://./out/.reportferry"},
		".":                     {"file://.", "file://./.reportferry"},
		"..":                    {"file://..", "file://../.reportferry"},
		"../a/b":                {"file://../a/b", "file://../a/b/.reportferry"},
		"a/../../b":             {"file://../b", "file://../b/.reportferry"},
		"/var/lib/x":            {"file:///var/lib/x", "file:///var/lib/x/.reportferry"},
		"my tables/50%?":        {"file://./my%20tables/50%25%3F", "file://./my%20tables/50%25%3F/.reportferry"},
		".hidden":               {"file://./.hidden", "file://./.hidden/.reportferry"},
		"gs://bucket":           {"gs://bucket", "gs://bucket/.reportferry"},
		"gs://bucket/a/":        {"gs://bucket/a/", "gs://bucket/a/.reportferry"},
		"s3://b/p?region=r":     {"s3://b/p?region=r", "s3://b/p/.reportferry?region=r"},
		"file://./o?key={t}":    {"file://./o?key={t}", "file://./o/.reportferry"},
		"bigquery://project/ds": {"bigquery://project/ds", "file://./.reportferry"},
		"postgres://host/db":    {"postgres://host/db", "file://./.reportferry"},
		"iceberg://lake/ads?type=rest&uri=https://host": {"iceberg://lake/ads?type=rest&uri=https://host",
			"file://./.reportferry"},
	} {
		if got := [2]string{SinkURL(".", to), LedgerBeside(SinkURL(".", to))}; got != want {
			t.Errorf("%s: %q, want %q", to, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	for dimensions, want := range map[string]string{"day,network": "day_network", "app": "app",
		"Day,my-own.x": "day_my_own_x"} {
		if got := NameOf(strings.Split(dimensions, ",")); got != want {
			t.Errorf("%s: %s, want %s", dimensions, got, want)
		}
	}
	for offset, want := range map[string]string{"+00:00": "0 0 * * *", "+05:30": "30 18 * * *", "-08:00": "0 8 * * *",
		"+14:00": "0 10 * * *", "": "0 0 * * *"} {
		if got := dayEnds(offset); got != want {
			t.Errorf("%s: %s, want %s", offset, got, want)
		}
	}
}

// A comma within a value would end it, in quotes too: the config refuses it, and so do the flags.
func TestCommasInQuotes(t *testing.T) {
	for arg, want := range map[string]string{
		`--filter=campaign__in="May, best of",b`: `--filter campaign__in: "May, best of" holds a comma, which the service takes for the end of a value`,
		`--filter=campaign__not_in=a,"b,c"`:      `--filter campaign__not_in: "b,c" holds a comma, which the service takes for the end of a value`,
		`--os-names=ios,"a,b"`:                   `invalid argument "ios,\"a,b\"" for "--os-names" flag: "a,b" holds a comma, which the service takes for the end of a value`,
		`--filter=campaign__in="May","best" of`:  "",
		`--filter=campaign__in=5" screen,6"`:     "",
	} {
		r := &Report{}
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		r.AddFlags(set)
		err := set.Parse([]string{"--dimensions=day", "--metrics=installs", arg})
		if err == nil {
			err = r.Complete(set, "x")
		}
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %s", arg, err, want)
		}
	}
}

// Whatever the flags say, the config has it, or refuses it; nothing gets lost or becomes something
// else.
func TestTheConfigSaysWhatTheFlagsSay(t *testing.T) {
	texts := rapid.StringMatching(`[ -+.-~]{1,9}`) // a comma would be the end of a value
	names := rapid.SampledFrom([]string{"app", "network", "campaign", "country_code"})
	rapid.Check(t, func(t *rapid.T) {
		r := &Report{}
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		r.AddFlags(set)
		args := []string{"--currency=EUR", "--dimensions=day,app", "--metrics=installs,cost"}
		want := map[string][]string{}
		name := names.Draw(t, "name")
		in, has := texts.Draw(t, "in"), texts.Draw(t, "contains")
		want[name+"__in"], want[name+"__contains"] = []string{in, "x"}, []string{has}
		args = append(args, "--filter="+name+"__in="+in+",x", "--filter="+name+"__contains="+has,
			"--filter=cost__lt=1000000", "--os-names="+in)
		if rapid.Bool().Draw(t, "sandbox") {
			args = append(args, "--sandbox", "--reattributed=false", "--timezone-id=Europe/Berlin")
		}
		if err := set.Parse(args); err != nil {
			t.Fatal(err)
		}
		if err := r.Complete(set, "x"); err != nil {
			t.Fatal(err)
		}
		text := r.draftTable(draft.Service{}, "file://./out", "day", UsualStart).YAML()
		c, err := config.Parse("", text, func(string) (string, bool) { return "", false })
		if err != nil {
			if strings.TrimSpace(in) == "" || strings.TrimSpace(has) == "" || in == "x" {
				return
			}
			t.Fatalf("%v:\n%s", err, text)
		}
		got := c.Jobs[0].Report
		want["cost__lt"] = []string{"1000000"}
		if !maps.EqualFunc(got.Filters, want, slices.Equal) {
			t.Errorf("filters %q, want %q", got.Filters, want)
		}
		if !maps.EqualFunc(got.Parameters, r.Query.Parameters, slices.Equal) || got.TimezoneID != r.Query.TimezoneID ||
			got.UTCOffset != r.Query.UTCOffset {
			t.Errorf("%v %s%s, want %+v", got.Parameters, got.TimezoneID, got.UTCOffset, r.Query)
		}
		if _, err := url.Parse(c.Ledger); err != nil || c.Jobs[0].Zone != map[bool]string{true: "Europe/Berlin",
			false: "UTC"}[got.TimezoneID != ""] {
			t.Errorf("%s %s", c.Ledger, c.Jobs[0].Zone)
		}
	})
}
