package ledger

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"cloud.google.com/go/civil"
	"golang.org/x/sync/errgroup"
)

// History returns every content that the partitions had when the table was read last, from from
// (included) until until (excluded), ascending by partition and number. An invalid date is no
// bound. The last content of a partition is the current one, unless it is in doubt. Successive
// fetches of the same content are one record: Since, Run and Reason are those of the first of them,
// all else of the last.
func (t *Table) History(ctx context.Context, from, until civil.Date) ([]Record, error) {
	within := func(p civil.Date) bool {
		return (!from.IsValid() || !p.Before(from)) && (!until.IsValid() || p.Before(until))
	}
	had, err := t.contents(ctx, within)
	if err != nil {
		return nil, err
	}
	history := had.merged()
	return history, t.addMeanings(ctx, history)
}

// addMeanings fills in Meaning for each content whose predecessor or successor in the partition has
// another shape.
func (t *Table) addMeanings(ctx context.Context, history []Record) error {
	for i := 1; i < len(history); i++ {
		was, is := &history[i-1], &history[i]
		if was.Partition != is.Partition || was.Shape == is.Shape {
			continue
		}
		for _, e := range []*Record{was, is} {
			s, err := t.ShapeOf(ctx, *e)
			if err != nil {
				return err
			}
			e.Meaning = s.FingerprintID()
		}
	}
	return nil
}

// Changed returns the history of the partitions whose content has changed since a time, or that had
// an event since then: each content since that time, and the one before. It reads only the months
// of these partitions.
func (t *Table) Changed(ctx context.Context, since time.Time) ([]Record, error) {
	if err := t.Refresh(ctx); err != nil {
		return nil, err
	}
	records := t.Records()
	had, err := t.contents(ctx, func(p civil.Date) bool { return !records[p].lastRecorded().Before(since) })
	if err != nil {
		return nil, err
	}
	// brought reports whether a record's content came since then, late also whether it had an
	// event.
	brought := func(e Record) bool { return !e.Brought().Before(since) }
	late := func(e Record) bool { return brought(e) || !e.lastEvent().Before(since) }
	maps.DeleteFunc(had, func(_ civil.Date, list []Record) bool { return !slices.ContainsFunc(list, late) })
	var out []Record
	list := had.merged()
	for i, e := range list {
		if late(e) || i+1 < len(list) && list[i+1].Partition == e.Partition && brought(list[i+1]) {
			out = append(out, e)
		}
	}
	return out, t.addMeanings(ctx, out)
}

// lastRecorded returns when anything was last recorded about the partition: a fetch, an event, or
// an answer that was held back.
func (e Record) lastRecorded() time.Time {
	last := e.Fetched
	if at := e.lastEvent(); at.After(last) {
		last = at
	}
	if e.HeldBack != nil && e.HeldBack.Last.After(last) {
		last = e.HeldBack.Last
	}
	return last
}

// Brought returns when the record's content was fetched first, as far as that is known.
func (e Record) Brought() time.Time {
	if e.Since.IsZero() {
		return e.Fetched
	}
	return e.Since
}

// An Event is something that happened to answers of a partition, other than a change of content.
type Event struct {
	What string    `json:"what"` // EventHeld, EventAccepted or EventDiffersAlike
	At   time.Time `json:"at"`
	Run  string    `json:"run,omitempty"` // run that fetched the answer; empty: a person decided
	Why  string    `json:"why"`           // what was lost, the reason that was given, or the difference
}

// The kinds of events.
//   - EventHeld: an answer was held back.
//   - EventAccepted: rows were released, by a person or because answers agreed.
//   - EventDiffersAlike: rows have differed from the service's totals alike on three days.
const (
	EventHeld         = "held back"
	EventAccepted     = "accepted"
	EventDiffersAlike = "differs, standing"
)

// events returns what happened between a record and the next one of its partition. For the first
// record, was is the zero record.
func events(was, is Record) (list []Event) {
	if h := is.HeldBack; h != nil && (was.HeldBack == nil || !was.HeldBack.Since.Equal(h.Since)) {
		list = append(list, Event{EventHeld, h.Since, h.Run, h.Why})
	}
	if is.Stands() && is.Same == 2 && !was.Stands() {
		list = append(list, Event{EventDiffersAlike, is.Fetched, is.Run, is.Control.Say()})
	}
	a, before := is.newestAcceptance(), was.newestAcceptance()
	if a != nil && (before == nil || !before.At.Equal(a.At)) {
		e := Event{EventAccepted, a.At, is.Run, a.Reason}
		if a.Person {
			e.Run = ""
		}
		list = append(list, e)
	}
	return list
}

// newestAcceptance returns the newest acceptance in a record, or nil.
func (e Record) newestAcceptance() *Acceptance {
	if e.HeldBack != nil && e.HeldBack.Accepted != nil {
		return e.HeldBack.Accepted
	}
	return e.Accepted
}

// lastEvent returns the time of the record's last event; zero if it has none.
func (e Record) lastEvent() (last time.Time) {
	for _, one := range append(events(Record{}, e), e.Events...) {
		if one.At.After(last) {
			last = one.At
		}
	}
	return last
}

// contents are the records of each partition, ascending and without duplicates.
type contents map[civil.Date][]Record

// contents returns the records of the partitions that within accepts, from their months as they
// were when the table was read last.
func (t *Table) contents(ctx context.Context, within func(civil.Date) bool) (contents, error) {
	if !t.Has() {
		if err := t.Refresh(ctx); err != nil {
			return nil, err
		}
	}
	names := map[string]bool{}
	for partition := range t.Records() {
		if within(partition) {
			names[monthOf(partition)] = true
		}
	}
	had := contents{}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for name := range names {
		g.Go(func() error {
			m, err := t.readMonth(ctx, name)
			if err != nil {
				return err
			}
			older, err := t.readOlder(ctx, name, m.Older)
			mu.Lock()
			defer mu.Unlock()
			had.add(slices.DeleteFunc(slices.Concat(older, m.History, m.Records),
				func(e Record) bool { return !within(e.Partition) }))
			return err
		})
	}
	return had, g.Wait()
}

// add inserts the records that aren't in c yet.
func (c contents) add(records []Record) {
	for _, e := range records {
		list := c[e.Partition]
		at, there := slices.BinarySearchFunc(list, e, byPartition)
		if !there {
			c[e.Partition] = slices.Insert(list, at, e)
		}
	}
}

// merged joins successive records with the same content into one.
func (c contents) merged() (out []Record) {
	for _, partition := range slices.SortedFunc(maps.Keys(c), civil.Date.Compare) {
		var was Record
		for i, e := range c[partition] {
			e.Events, was = events(was, e), e
			if i == 0 || !sameContent(out[len(out)-1], e) {
				e.Since = e.Brought()
				out = append(out, e)
				continue
			}
			first := out[len(out)-1]
			e.Since, e.Run, e.Reason, e.Events = first.Since, first.Run, first.Reason, append(first.Events, e.Events...)
			out[len(out)-1] = e
		}
	}
	return out
}
