package console

import (
	"context"
	"maps"
	"math/big"
	"slices"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/status"
)

// A partitionBody is one partition of a table.
type partitionBody struct {
	Job, Name      string
	Days           *time.Location
	Ends           time.Time
	State          state
	Entry          refresh.Entry
	Problem        []problem // the partition's problem, if it has one
	Due            refresh.Reason
	Unread         error     // the history couldn't be read
	Contents       []content // the newest first
	More           int       // contents that aren't shown
	Metrics        []metric
	Receipts       []receipt
	Again, History string // the commands that fetch it again, and that show what it was
	Newer, Older   string // the partitions beside it, if they have a page in an export
}

// A content is what a partition held from one fetch on.
type content struct {
	ledger.Record
	Linked      string // the run that brought it, if it has a page
	Change      string // of the row count since the content before; empty: no change, or not compared
	Rebaselined string // what earlier numbers meant and what its own mean, where that differs: "USD -> EUR"
	Now         bool   // the partition holds it now
}

// A metric is one number of all contents that are shown.
type metric struct {
	Name   string
	Values []value
}

// A value is a metric of one content, and the difference to the content before.
type value struct{ Is, Change string }

// A receipt is what one sink holds.
type receipt struct {
	Sink, Key string
	Size      int64
}

// mostContents is how many contents of a partition are shown.
const mostContents = 12

// partition shows one partition.
func (c *Console) partition(ctx context.Context, names vars) (view, error) {
	s, j, known := c.cache.job(ctx, names["job"])
	if !known || j.Inspect == nil {
		return view{}, errNoPage
	}
	if j.Err != nil {
		return view{j.Name, "unreadable.html", unreadable(j.Name, j.Err, "status "+j.Name)}, nil
	}
	all := j.State.Calendar
	at := slices.IndexFunc(all, func(e refresh.Entry) bool { return day(e.Partition) == names["day"] })
	if at < 0 {
		return view{}, errNoPage
	}
	// What the calendar knows of the partition, and its neighbours.
	e := all[at]
	b := partitionBody{Job: j.Name, Name: day(e.Partition), Days: j.days(), Ends: endOf(j, e.Partition),
		State: j.State.state(e.Condition), Entry: e}
	paged := j.State.withPage()
	if at > 0 && paged[all[at-1].Partition] {
		b.Older = day(all[at-1].Partition)
	}
	if at+1 < len(all) && paged[all[at+1].Partition] {
		b.Newer = day(all[at+1].Partition)
	}
	// What is wrong with it, or how to fetch it again.
	if at := j.State.problem(e.Condition); at >= 0 {
		b.Problem = problemsOfTable(j, e.Partition)[at:][:1]
		b.Problem[0].Run = s.linked(b.Problem[0].Run)
	} else if j.Kind != "events" { // of events only today's partition can be fetched
		b.Again = status.Backfill(j.Name, e.Partition, e.Partition)
	}
	for _, d := range j.State.Due {
		if d.Partition == e.Partition {
			b.Due = d.Reason
		}
	}
	b.History = status.History(j.Name, e.Partition, e.Partition)
	for _, r := range e.Record.Receipts {
		b.Receipts = append(b.Receipts, receipt{r.Sink, r.Key, r.Size})
	}
	// What it held before.
	history, err := c.history(ctx, s, j, e.Partition)
	b.Unread = err
	b.contents(s, history)
	return view{j.Name + ", " + b.Name, "partition.html", b}, nil
}

// contents lays out what the partition has held.
func (b *partitionBody) contents(s snapshot, all tableHistory) {
	history, rebaselined := all.records, map[int]string{}
	for _, c := range all.rebaselined {
		if c.Partition == b.Entry.Partition {
			rebaselined[c.Seq] = c.Was + " -> " + c.Is
		}
	}
	b.More = max(0, len(history)-mostContents)
	names := map[string][]value{}
	// Each metric gets a value for each content, blank where the content has none.
	for i, e := range slices.Backward(history[b.More:]) {
		at := b.More + i
		c := content{Record: e, Rebaselined: rebaselined[e.Seq], Linked: s.linked(e.Run), Now: at == len(history)-1 &&
			b.Entry.Record.State != ledger.Publishing}
		before := ledger.Record{}
		if at > 0 && c.Rebaselined == "" {
			before = history[at-1]
			c.Change = difference(valueOf(e, refresh.RowCount), valueOf(before, refresh.RowCount))
		}
		b.Contents = append(b.Contents, c)
		for _, name := range namesOf([]refresh.Entry{{Record: e}, {Record: before}})[1:] {
			v := value{Is: valueOf(e, name)}
			if before.Seq > 0 {
				v.Change = difference(v.Is, valueOf(before, name))
			}
			for len(names[name]) < len(b.Contents)-1 {
				names[name] = append(names[name], value{})
			}
			names[name] = append(names[name], v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		values := names[name]
		for len(values) < len(b.Contents) {
			values = append(values, value{})
		}
		b.Metrics = append(b.Metrics, metric{name, values})
	}
}

// difference returns a number less another, with its sign. It is empty when they are equal, or when
// one of them is missing.
func difference(is, was string) string {
	a, first := new(big.Rat).SetString(is)
	b, second := new(big.Rat).SetString(was)
	if !first || !second || a.Cmp(b) == 0 {
		return ""
	}
	a.Sub(a, b)
	text := amount(refresh.Decimal(a))
	if a.Sign() > 0 {
		text = "+" + text
	}
	return text
}

// eachPartition names the partitions of all tables that have a page in an export.
func (c *Console) eachPartition(ctx context.Context) (all []vars) {
	for _, j := range c.cache.get(ctx, func(j Job) bool { return j.Inspect != nil && hasPage(j) }).jobs {
		paged := j.State.withPage()
		for _, e := range j.State.Calendar {
			if paged[e.Partition] {
				all = append(all, vars{"job": j.Name, "day": day(e.Partition)})
			}
		}
	}
	return all
}
