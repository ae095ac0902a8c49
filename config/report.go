package config

import (
	"fmt"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
)

// Report is what a job of kind report asks the service for.
type Report struct {
	Start          Start  // first day wanted
	Until          string // last day wanted: yesterday or today
	Period         string // of a partition: day (by hour too), week, month, quarter, year, or whole without a date dimension
	Lookback       int    // days before today that are fetched again while late data may still change them
	Horizons       []int  // ages in days, ascending, above Lookback: a partition is fetched once more when it is past each
	Page           Page   // length of a window; zero when Period is whole
	OnEmpty        string // guard, clear or keep
	OnMissingEvent string // fail or null
	NewColumns     string // now or later

	Dimensions []string
	Metrics    []string
	Events     []EventSelector
	Filters    map[string][]string     // parameter, such as app_token__in or installs__gt -> values
	Types      map[string]catalog.Type // column -> String, Int64, Decimal or Double: as configured, or as guessed for a metric that the catalogue lacks
	Codec      string                  // zstd, snappy or none

	UTCOffset  string              // such as +02:00; empty with TimezoneID
	TimezoneID string              // as the service knows it, a number or an IANA name; Job.Zone is then its IANA name
	Currency   string              // three capital letters
	Parameters map[string][]string // name of a Parameter -> its values; every one is there
}

// Start is the first day a report wants: a date, or so many days before today in the report's zone.
type Start struct {
	Date    civil.Date // zero when DaysAgo counts
	DaysAgo int
}

// On gives the first day wanted when today is the given day.
func (s Start) On(today civil.Date) civil.Date {
	if s.Date != (civil.Date{}) {
		return s.Date
	}
	return today.AddDays(-s.DaysAgo)
}

// Page is the length of a window: Count days (unit d), weeks (w), months (m), quarters (q) or years (y).
type Page struct {
	Count int
	Unit  byte
}

func (p Page) String() string { return fmt.Sprintf("%d%c", p.Count, p.Unit) }

// EventSelector chooses events by exactly one of Slug, Name, Token, Section and Glob, and the metrics of each.
type EventSelector struct {
	Slug    string
	Name    string
	Token   string
	Section string
	Glob    string   // pattern of slugs, as in path.Match
	App     string   // app token: look only among this app's events
	Metrics []string // what follows the slug in a metric's name, such as revenue or d7_revenue_cohort; self is the slug alone
	As      string   // stands for the slug in the names of columns; empty: the slug
}

// Column is the name of the column that holds one metric of the event whose slug is given.
func (s EventSelector) Column(slug, metric string) string {
	if s.As != "" {
		slug = s.As
	}
	if metric == "self" {
		return slug
	}
	return slug + "_" + metric
}
