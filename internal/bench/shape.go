package bench

import (
	"fmt"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
)

// A Shape is a kind of answer that a team fetches.
type Shape struct {
	Name      string
	Campaigns int // number of distinct campaigns
	Cohorts   int // number of cohort metrics after the seventeen columns, in threes: a count, money, a ratio
	Rows      int64
	Shuffled  bool // the rows of all days are mixed; otherwise they are sorted by day
}

// Shapes returns the shapes that TestTable measures. The rows are chosen so that the larger answers
// have about as many bytes.
func Shapes() []Shape {
	const million = 1_000_000
	shapes := []Shape{
		{Name: "17 columns", Campaigns: 3000, Rows: 3 * million},
		{Name: "wide", Campaigns: 3000, Cohorts: 60, Rows: million},
		{Name: "tall", Campaigns: 2 * million, Rows: 3 * million},
	}
	var all []Shape
	for _, s := range shapes {
		shuffled := s
		shuffled.Name, shuffled.Shuffled = s.Name+", shuffled", true
		all = append(all, s, shuffled)
	}
	return all
}

// days is the number of days, and so of partitions, of an answer.
const days = 7

// Days returns the dates of an answer; each is a partition.
func Days() []civil.Date {
	var all []civil.Date
	for i := range days {
		all = append(all, civil.Date{Year: 2026, Month: 3, Day: 1 + i})
	}
	return all
}

// A Column is one column of an answer.
type Column struct {
	Name      string
	Type      catalog.Type
	Dimension bool // false: it is a metric
}

// Additive reports whether a sum of the column's values is meaningful.
func (c Column) Additive() bool { return c.Type == catalog.Int64 || c.Type == catalog.Decimal }

// Columns returns the columns of an answer, in the order of its header. The first is the day.
func (s Shape) Columns() []Column {
	var all []Column
	add := func(t catalog.Type, dimension bool, names ...string) {
		for _, n := range names {
			all = append(all, Column{Name: n, Type: t, Dimension: dimension})
		}
	}
	add(catalog.Day, true, "day")
	add(catalog.String, true, "app", "app_token", "partner_name", "campaign_network", "campaign_id_network",
		"country_code", "os_name")
	add(catalog.Int64, false, "impressions", "clicks", "installs", "sessions", "daus")
	add(catalog.Decimal, false, "cost", "network_cost", "all_revenue")
	add(catalog.Double, false, "retention_rate_d7")
	for d := range s.Cohorts / 3 {
		add(catalog.Int64, false, fmt.Sprintf("retained_users_d%d", d))
		add(catalog.Decimal, false, fmt.Sprintf("revenue_total_d%d", d))
		add(catalog.Double, false, fmt.Sprintf("retention_rate_c_d%d", d))
	}
	return all
}
