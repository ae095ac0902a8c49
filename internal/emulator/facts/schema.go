package facts

import (
	"context"
	"database/sql"
	"strings"

	"github.com/reportferry/reportferry/internal/emulator/store"
)

// schema is all the data that reports are made from. Whoever wants to recompute a report by hand
// needs only this comment.
//
// facts holds what one slice did in one hour; every metric is a sum of row expressions over facts,
// so a filter on facts keeps sums exact. Money is in micros (millionths) of USD.
//
//	id            (day*1000+app)*1000+row: ordered by day, then app
//	day, ts       days and hours since 1970-01-01 UTC; ts/24 = day
//	slice         slices.id: who the user is, and what the last engagement was
//	first_slice   slices.id credited under attribution_source=first: the first engagement. Of the same app, and the slice
//	              itself for organic users; it decides only the dimensions from network to creative_id_network and
//	              partner to channel ("attributed" in dimensions.go), never a metric
//	engagement    0 none (organic, or a network of the service's own), 1 click, 2 impression, 3 engaged_ad: attribution_types keeps 0 and the types listed
//	reattributed  1 for users who were reattributed at some time, else 0
//	sandbox       1 for test traffic, which only sandbox=true shows, and then nothing else
//	ad_source     index in AdSources: who brought all of this row's ad revenue and ad impressions, by the hour and in
//	              the cohort; ad_revenue_sources takes other rows' as 0
//	salt          0..999999: rounds the row's shares up or down, always the same way
//	installs, clicks, impressions, sessions (without installs), dau (active users of the day)
//	spend         attributed ad spend
//	pricing       which of the four costs the spend is: 0 none, 1 install, 2 click, 3 impression, 4 event
//	net_spend     what the ad network says in the end, and net_drift how far it was off at first, in millionths of it
//	revenue, ad_revenue   by activity date
//
// What partners post to /cost is in rows of its own, one for each way of paying and each row whose
// engagements it pays for. Such a row has the slices and the time of that row, a spend and pricing
// of its own, and 0 in every other number.
//
// slices holds a combination of dimensions of one app: id; app, its index; organic, has_network, 0
// or 1; arpu, adpu: what a user brings in the end by purchases and by ads; retention: quality of
// its users in percent; then every dimension that isn't a date or a currency under its own slug,
// but the app's name under app_name.
//
// app_events holds how often the users of an app trigger an event (millionths a user and day), and
// its price.
//
// restatements holds the changes of facts that existed: number, from 1, in their order; at, by the
// emulator's clock in nanoseconds since 1970; the days that a restatement is about, how many facts
// it changed, and a note. past_facts holds these facts as they were before: until is the moment at
// which the restatement of this number changed the fact.
//
// declared_apps holds the apps that app automation made, whose indexes follow those of the seed's
// apps. Of the seed's apps that it renamed it holds only index and name. declared_events holds the
// events that app automation made: number in app_events, name and token.
var schema = `
CREATE TABLE facts (id INTEGER PRIMARY KEY, day INT, slice INT, first_slice INT, ts INT, engagement INT, reattributed INT, sandbox INT,
	ad_source INT, salt INT, installs INT, clicks INT, impressions INT, sessions INT, dau INT, spend INT, net_spend INT, net_drift INT,
	revenue INT, ad_revenue INT, pricing INT);
CREATE TABLE slices (id INTEGER PRIMARY KEY, app INT, organic INT, arpu INT, adpu INT, retention INT, has_network INT,
	` + strings.Join(TextColumns, " TEXT, ") + ` TEXT);
CREATE TABLE app_events (event INT, app INT, rate INT, price INT, PRIMARY KEY (event, app)) WITHOUT ROWID;
CREATE TABLE restatements (number INTEGER PRIMARY KEY, at INT, first_day INT, last_day INT, changed INT, note TEXT);
CREATE TABLE past_facts (` + strings.ReplaceAll(FactColumns, ",",
	" INT,") + ` INT, number INT, until INT, PRIMARY KEY (id, number)) WITHOUT ROWID;
CREATE TABLE declared_apps (app INTEGER PRIMARY KEY, token TEXT, name TEXT, platform TEXT, store_id TEXT, first_day INT);
CREATE TABLE declared_events (position INTEGER PRIMARY KEY, app INT, event INT, name TEXT, token TEXT);`

// factColumns is the number of FactColumns.
const factColumns = 21

// Insert writes rows of facts.
func Insert(ctx context.Context, tx *sql.Tx, list []Fact) error {
	values := make([]any, 0, len(list)*factColumns)
	for i := range list {
		values = list[i].appendValues(values)
	}
	return store.Insert(ctx, tx, "facts", factColumns, values)
}

// appendValues appends the fact's values in the order of FactColumns.
func (f *Fact) appendValues(values []any) []any {
	return append(values, f.ID, f.Day, f.Slice, f.FirstSlice, f.Hour, f.Engagement, f.Reattributed, f.sandbox,
		f.AdSource, f.salt, f.installs, f.clicks, f.impressions, f.sessions, f.dau, f.Spend, f.netSpend, f.netDrift,
		f.revenue, f.adRevenue, f.Pricing)
}

// insertAccount writes the slices and events of the seed's apps.
func insertAccount(ctx context.Context, tx *sql.Tx, account *Account) error {
	for i := range account.Apps {
		if err := insertSlices(ctx, tx, i, account.Apps[i].Slices); err != nil {
			return err
		}
	}
	var rates []any
	for _, r := range account.Catalog.rates {
		rates = append(rates, r.event, r.app, r.rate, r.price)
	}
	return store.Insert(ctx, tx, "app_events", 4, rates)
}

// insertSlices writes slices of the app whose index is place.
func insertSlices(ctx context.Context, tx *sql.Tx, place int, list []Slice) error {
	var slices []any
	for _, s := range list {
		slices = append(slices, s.ID, place, s.network == organicNetwork, s.arpu, s.adpu, s.retention, s.networkData)
		for _, t := range s.Texts {
			slices = append(slices, t)
		}
	}
	return store.Insert(ctx, tx, "slices", 7+len(TextColumns), slices)
}
