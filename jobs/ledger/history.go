package ledger

import (
	"context"
	"maps"
	"slices"
	"time"

	"cloud.google.com/go/civil"
)

// History is every content that the partitions from from, included, until until, excluded, have had, ascending by partition and
// number; the last one of a partition is what it holds, unless its put was interrupted. An invalid date is no bound. Fetches that
// brought the same content are one record: Since, Run and Reason are of the first of them, all else of the last. Planning never
// reads history.
func (t *Table) History(ctx context.Context, from, until civil.Date) ([]Record, error) {
	history, err := t.between(ctx, from, until)
	if err != nil {
		return nil, err
	}
	return history, t.meant(ctx, history)
}

// meant fills in the meanings of contents before or after which their partition had another shape.
func (t *Table) meant(ctx context.Context, history []Record) error {
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

// between is History without what the contents mean.
func (t *Table) between(ctx context.Context, from, until civil.Date) ([]Record, error) {
	within := func(p civil.Date) bool {
		return (!from.IsValid() || !p.Before(from)) && (!until.IsValid() || p.Before(until))
	}
	had, months, err := t.contents(ctx, within)
	if err != nil {
		return nil, err
	}
	for _, month := range months {
		if !from.IsValid() || month >= earliest(from) {
			if err := t.readMonth(ctx, had, month, within); err != nil {
				return nil, err
			}
		}
	}
	return had.merged(), nil
}

// Changed is the history of those partitions whose content has changed since a time, or to which something happened: what each has
// had since then, and what it had before that, of which Since, Run and Reason may be of a later fetch than the first. It reads no more months than that takes.
func (t *Table) Changed(ctx context.Context, since time.Time) ([]Record, error) {
	had, months, err := t.contents(ctx, everything)
	if err != nil {
		return nil, err
	}
	slices.Reverse(months)
	for len(months) > 0 && months[0] >= monthOf(since) {
		if err := t.readMonth(ctx, had, months[0], everything); err != nil {
			return nil, err
		}
		months = months[1:]
	}
	brought := func(e Record) bool { return !e.Brought().Before(since) }
	late := func(e Record) bool { return brought(e) || !e.decided().Before(since) }
	maps.DeleteFunc(had, func(_ civil.Date, list []Record) bool { return !slices.ContainsFunc(list, late) })
	for _, month := range months {
		// What a partition was before may be in any month since it began.
		lacking := func(p civil.Date) bool {
			list := had[p]
			return len(list) > 0 && list[0].Seq > 1 && brought(list[0]) && month >= earliest(p)
		}
		if slices.ContainsFunc(slices.Collect(maps.Keys(had)), lacking) {
			if err := t.readMonth(ctx, had, month, lacking); err != nil {
				return nil, err
			}
		}
	}
	var out []Record
	list := had.merged()
	for i, e := range list {
		if late(e) || i+1 < len(list) && list[i+1].Partition == e.Partition && brought(list[i+1]) {
			out = append(out, e)
		}
	}
	return out, t.meant(ctx, out)
}

// Brought is when the record's content was fetched first, as far as that is known.
func (e Record) Brought() time.Time {
	if e.Since.IsZero() {
		return e.Fetched
	}
	return e.Since
}

// An Event is what happened to answers of a partition, besides that one brought another content.
type Event struct {
	What string    `json:"what"` // EventHeld, EventAccepted or EventDiffersAlike
	At   time.Time `json:"at"`
	Run  string    `json:"run,omitempty"` // that fetched the answer; empty: a person decided
	Why  string    `json:"why"`           // what was lost, the reason that was given, or the difference
}

// The events: an answer was held back; rows were let go, by a person or because answers agreed; rows have differed from the service's
// totals alike on three days.
const (
	EventHeld         = "held back"
	EventAccepted     = "accepted"
	EventDiffersAlike = "differs, standing"
)

// events are those between a record and the next one of its partition. Of the first one the zero record is the one before.
func events(was, is Record) (list []Event) {
	if h := is.HeldBack; h != nil && (was.HeldBack == nil || !was.HeldBack.Since.Equal(h.Since)) {
		list = append(list, Event{EventHeld, h.Since, h.Run, h.Why})
	}
	if is.Stands() && is.Same == 2 && !was.Stands() {
		list = append(list, Event{EventDiffersAlike, is.Fetched, is.Run, is.Control.Say()})
	}
	if a, before := is.accepted(), was.accepted(); a != nil && (before == nil || !before.At.Equal(a.At)) {
		e := Event{EventAccepted, a.At, is.Run, a.Reason}
		if a.Person {
			e.Run = ""
		}
		list = append(list, e)
	}
	return list
}

// accepted is the newest acceptance that a record has; nil: none.
func (e Record) accepted() *Acceptance {
	if e.HeldBack != nil && e.HeldBack.Accepted != nil {
		return e.HeldBack.Accepted
	}
	return e.Accepted
}

// decided is when the record's last event was; zero: it has none.
func (e Record) decided() (last time.Time) {
	for _, one := range append(events(Record{}, e), e.Events...) {
		if one.At.After(last) {
			last = one.At
		}
	}
	return last
}

// Contents are records without doubts, by partition and ascending, each once.
type contents map[civil.Date][]Record

func everything(civil.Date) bool { return true }

// contents reads what isn't history alone, and names the months of history. The order matters: what is moved into history after it
// was looked for here is found there.
func (t *Table) contents(ctx context.Context, within func(civil.Date) bool) (contents, []string, error) {
	c, err := t.chains(ctx, within)
	if err != nil {
		return nil, nil, err
	}
	had := contents{}
	for _, chain := range c.records {
		had.add(chain)
	}
	months, err := t.months(ctx)
	return had, months, err
}

// add takes records that aren't there yet.
func (c contents) add(records []Record) {
	for _, e := range records {
		list := c[e.Partition]
		at, there := slices.BinarySearchFunc(list, e, byPartition)
		if !there && e.State != Publishing {
			c[e.Partition] = slices.Insert(list, at, e)
		}
	}
}

// merged makes one record of successive ones with the same content.
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

// earliest is the first month in which a partition can have been fetched, and one more for clocks that are wrong.
func earliest(partition civil.Date) string {
	return monthOf(civil.Date{Year: partition.Year, Month: partition.Month, Day: 1}.AddDays(-1).In(time.UTC))
}
