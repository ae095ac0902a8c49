// Package kinds has the settings of each kind of job, in a file of its own: its keys with their
// defaults, and the checks that need more than one of them. Without it, what a kind may be told
// would be spread over the whole config.
//
//	kinds.All ─ Keys ─▶ strict.Object ─ config reads a job ─▶ Settings
package kinds

import (
	"fmt"

	"github.com/reportferry/reportferry/config/strict"
)

// Settings are what the keys of a job's kind fill. The parameters of the kind are in its field.
type Settings struct {
	Zone string // IANA zone of the schedule; with Report.TimezoneID also of the report's days

	Report  *Report  // kind report, else nil
	Events  *Events  // kind events, else nil
	Spend   *Spend   // kind spend, else nil
	Sharing *Sharing // kind sharing, else nil
	Apps    *Apps    // kind apps, else nil
}

// Pushing returns the settings that all kinds have that push files. It is nil for the other kinds.
func (s Settings) Pushing() *Push {
	switch {
	case s.Spend != nil:
		return &s.Spend.Push
	case s.Sharing != nil:
		return &s.Sharing.Push
	}
	return nil
}

// AsksService tells whether the job asks the host of reports and app automation, which wants the
// API token. The other jobs push to other hosts.
func (s Settings) AsksService() bool { return s.Pushing() == nil }

// A Kind is a kind of job, with the keys that it adds to those that every job has.
type Kind struct {
	Name string
	Doc  string // what a job of this kind does, in a sentence
	// Keys makes the kind's part of s, with its defaults, and returns the keys that fill it.
	Keys func(s *Settings) strict.Object
	// Without are keys of every other kind of job that this one doesn't have, and why.
	Without map[string]string
}

// All lists every kind of job. A new one is one more line here, a field of Settings, and a file
// with its part and its keys.
var All = []Kind{
	{Name: "report", Keys: reportKeys,
		Doc: "Fetches metrics by dimensions into a table with one partition a period."},
	{Name: "events", Keys: eventsKeys,
		Doc: "Fetches the account's events and their slugs into a table with one snapshot a run date."},
	{Name: "spend", Keys: spendKeys, Without: noTable("spend", "its files come from source"),
		Doc: "Sends files of ad spend to the cost endpoint, record by record."},
	{Name: "sharing", Keys: sharingKeys, Without: noTable("sharing", "its files come from source"),
		Doc: "Sends files of devices' choices on third-party sharing, record by record and in order."},
	{Name: "apps", Keys: appsKeys, Without: noTable("apps", "its apps come from file"),
		Doc: "Keeps the account's apps as a file declares them, by app automation."},
}

// noTable returns the keys that a kind without a table lacks, each with the reason: those that say
// where and how a table is kept, and which account its rows are from.
func noTable(kind, instead string) map[string]string {
	none := fmt.Sprintf("a job of kind %s fills no table", kind)
	return map[string]string{"accounts": fmt.Sprintf("only reports and events are fetched by account; a job of kind "+
		"%s has the credentials of service", kind), "sinks": none + "; " + instead, "bigquery": none, "postgres": none,
		"iceberg": none}
}
