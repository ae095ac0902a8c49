package draft

import (
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"pgregory.net/rapid"

	"github.com/reportferry/reportferry/config"
)

func env(name string) (string, bool) { return "x", name == "ADJUST_TOKEN" }

const whole = `# One table of mine.
service:
  base_url: https://automate.adjust.com
  token: "${ADJUST_TOKEN}"   # a reference, never the token itself
ledger: file://./out/.ledger   # records what is done
jobs:
  # What was paid.
  - name: days   # also the name of the table
    kind: report
    schedule: "0 6 * * *"   # says only when to look
    zone: Europe/Berlin   # of the schedule
    sinks: [file://./out]
    start: -30d   # the first day wanted
    currency: USD
    dimensions: [day, network]
    metrics:
      - installs
      - cost
      - all_revenue_total_d7
      - all_revenue_total_d30
      - retention_rate_d7
    filters:
      app_token__in: [abc, "0123"]
    # Found by name.
    events:
      - name: Purchase
        metrics: [events, revenue]   # of each
      - glob: "level_*"
        metrics: [events]
    # Days that are fetched again, because the service still restates them.
    lookback: 14
`

func TestYAML(t *testing.T) {
	c := Config{
		Comment: []string{"One table of mine."}, Ledger: "file://./out/.ledger",
		Jobs: []Job{{
			Comment: []string{"What was paid."}, Name: "days", Schedule: "0 6 * * *", Zone: "Europe/Berlin",
			Sinks: []string{"file://./out"}, Start: "-30d",
			Currency: "USD", Dimensions: []string{"day", "network"},
			Metrics: []string{"installs", "cost", "all_revenue_total_d7", "all_revenue_total_d30", "retention_rate_d7"},
			More: []Key{
				{"filters", []Key{{"app_token__in", []string{"abc", "0123"}, ""}}, ""},
				{"events", [][]Key{
					{{"name", "Purchase", ""}, {"metrics", []string{"events", "revenue"}, "of each"}},
					{{"glob", "level_*", ""}, {"metrics", []string{"events"}, ""}},
				}, "Found by name."},
				{"lookback", 14, "Days that are fetched again, because the service still restates them."},
			},
		}},
	}
	got := string(c.YAML())
	if got != whole {
		t.Errorf("got:\n%s\nwant:\n%s", got, whole)
	}
	parsed, err := config.Parse("x.yml", []byte(got), env)
	if err != nil {
		t.Fatal(err)
	}
	if j := parsed.Jobs[0]; j.Name != "days" || j.Report.Lookback != 14 ||
		j.Report.Filters["app_token__in"][1] != "0123" || j.Zone != "Europe/Berlin" {
		t.Errorf("%+v", j)
	}
}

// What is off is a comment, line by line.
func TestOff(t *testing.T) {
	got := string(Config{Service: Service{Embedded: true}, Jobs: []Job{{Name: "a", More: []Key{
		{"constants", Off{[]Key{{"tag", "nightly", "said"}}}, "The same in every record."},
		{"columns", []Key{{"a", Off{"b"}, ""}, {"c", "d", ""}}, ""},
	}}}}.YAML())
	if want := `
    # The same in every record.
    # constants:
    #   tag: nightly   # said
    columns:
      # a: b
      c: d
`; !strings.HasSuffix(got, want) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestEmbedded(t *testing.T) {
	got := string(Config{Service: Service{Embedded: true}}.YAML())
	if !strings.HasPrefix(got, "service: embedded   # ") {
		t.Error(got)
	}
}

// Whatever a text holds, YAML reads the same text again, alone and in a list.
func TestAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~]{0,12}`), rapid.SampledFrom([]string{
			"null", "~", "yes", "Off", "0x1f", "1_000", "12:30", "1e3", ".inf", "-30d", "2026-01-01", "- a", "a: b",
			"a #b", "@daily", "&a", "*a", "!a", "%a", "a,b", "[", "{}", "\ufeff", "",
		}))
		s := drawn.Filter(func(s string) bool {
			return !strings.ContainsAny(s, "\x7f\u0085\u2028\u2029\ufeff") ||
				s == "\ufeff"
		}).Draw(t, "text")
		w := &writer{}
		w.keys(0, []Key{{"alone", s, "a comment"}, {"list", []string{s, s}, ""},
			{"inner", []Key{{"deep", s, ""}}, "a comment"}})
		var got struct {
			Alone string
			List  []string
			Inner struct{ Deep string }
		}
		if err := yaml.Unmarshal(w.Bytes(), &got); err != nil {
			t.Fatalf("%v:\n%s", err, w)
		}
		if got.Alone != s || !slices.Equal(got.List, []string{s, s}) || got.Inner.Deep != s {
			t.Fatalf("%q, want %q:\n%s", got, s, w)
		}
	})
}
