package adjust

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/reportferry/reportferry/internal/adjust/transport"
	"github.com/reportferry/reportferry/internal/catalog"
)

var (
	// ErrTicketFailed means that a job of app automation has failed. The ticket that comes with it
	// says which sections.
	ErrTicketFailed = errors.New("the job has failed")
	// ErrTicketOpen means that a job of app automation wasn't over when the wait for it was.
	ErrTicketOpen = errors.New("the job isn't over yet, ask for its ticket later")
)

// A Ticket is the state of a job of app automation. Its shape is that of
// dev.adjust.com/en/api/app-automation-api/status-endpoint.
type Ticket struct {
	// New, opened, completed or failed; the documents show only completed, so it may be any.
	Status string   `json:"status"`
	Kind   string   `json:"kind"`   // migration; there may be others
	Result Sections `json:"result"` // by section, those that are finished
	// Unknown holds the fields that this version doesn't know.
	Unknown map[string]json.RawMessage `json:"-"`
}

// Sections are the results of a job by section.
type Sections map[string]SectionResult

// A SectionResult is what came of one section.
type SectionResult struct {
	Successes []Text   `json:"successes"` // names of events, slugs of partners
	Failures  Failures `json:"failures"`
	Section   string   `json:"section"` // only of a section that never began
	Detail    Text     `json:"detail"`  // why it never began
}

// Failures are the items of a section that weren't applied: a list, or an object with the reason by
// item.
type Failures []Failure

// A Failure is an item that wasn't applied. The documents don't show one: a text, and an object
// with a name (or a section) and a detail, are understood; anything else is kept in Raw.
type Failure struct {
	Name   string
	Detail string
	Raw    json.RawMessage // all of it
}

// Done tells whether the job is over, well or not.
func (t Ticket) Done() bool { return t.Completed() || t.Failed() }

// Completed tells whether the job is over and went well. Sections may have failures all the same.
func (t Ticket) Completed() bool {
	return t.hasStatus("completed", "complete", "done", "finished", "success", "succeeded")
}

// Failed tells whether the job has failed.
func (t Ticket) Failed() bool {
	return t.hasStatus("failed", "failure", "error", "errored", "cancelled", "canceled", "aborted")
}

// Said returns the status in the service's own word.
func (t Ticket) Said() string { return transport.Shorten(cmp.Or(t.Status, "none yet")) }

// Open tells whether the status is one that is known for a job that isn't over. A status for which
// neither Open nor Done is true may mean anything.
func (t Ticket) Open() bool { return t.hasStatus("new", "opened") }

// hasStatus compares the status with words. The documents name completed alone.
func (t Ticket) hasStatus(words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return catalog.SameWord(t.Status, word) })
}

// Problems lists what wasn't applied, by section and item, in order: "events purchase: name is
// taken".
func (t Ticket) Problems() []string {
	var list []string
	for _, section := range slices.Sorted(maps.Keys(t.Result)) {
		r := t.Result[section]
		if r.Detail != "" {
			list = append(list, section+": "+transport.Shorten(string(r.Detail)))
		}
		for _, f := range r.Failures {
			list = append(list, section+" "+f.String())
		}
	}
	return list
}

// String returns the item and the reason in one line, or all of the failure if it has neither.
func (f Failure) String() string {
	switch {
	case f.Name != "" && f.Detail != "":
		return transport.Shorten(f.Name + ": " + f.Detail)
	case f.Name+f.Detail != "":
		return transport.Shorten(f.Name + f.Detail)
	}
	return transport.Shorten(string(f.Raw))
}

// UnmarshalJSON takes any value.
func (f *Failure) UnmarshalJSON(b []byte) error {
	*f = Failure{Raw: slices.Clone(b)}
	if json.Unmarshal(b, &f.Name) == nil {
		return nil
	}
	var item struct {
		Name, Section, Detail, Details Text
	}
	if json.Unmarshal(b, &item) == nil {
		f.Name, f.Detail = cmp.Or(string(item.Name), string(item.Section)),
			cmp.Or(string(item.Detail), string(item.Details))
	}
	return nil
}

// UnmarshalJSON takes a list, an object by item, and a single text.
func (f *Failures) UnmarshalJSON(b []byte) error {
	*f = nil
	if o := asObject(b); o != nil {
		for _, name := range slices.Sorted(maps.Keys(o)) {
			var detail Text
			_ = detail.UnmarshalJSON(o[name]) // it takes anything
			*f = append(*f, Failure{Name: name, Detail: string(detail), Raw: slices.Clone(b)})
		}
		return nil
	}
	list := asList(b)
	if list == nil && string(b) != "[]" && string(b) != "null" && string(b) != `""` {
		list = []json.RawMessage{b}
	}
	for _, item := range list {
		var one Failure
		_ = one.UnmarshalJSON(item) // it takes anything
		*f = append(*f, one)
	}
	return nil
}

// UnmarshalJSON takes an object by section, and a list of results that name their section. Anything
// else is read as no results.
func (s *Sections) UnmarshalJSON(b []byte) error {
	*s = Sections{}
	for name, raw := range asObject(b) {
		var one SectionResult
		if Unmarshal(raw, &one) == nil {
			(*s)[name] = one
		}
	}
	for _, raw := range asList(b) {
		var one SectionResult
		if Unmarshal(raw, &one) == nil && one.Section != "" {
			(*s)[one.Section] = one
		}
	}
	return nil
}

// Ticket reads how a job goes: GET /status/{ticket}. An answer without a status is Unclear.
func (c *Client) Ticket(ctx context.Context, ticket string) (t Ticket, err error) {
	q := call{op: ticketOp(ticket), path: []string{"status", ticket}, what: "the status of a job"}
	raw, err := sendCall(ctx, c, q)
	if err != nil {
		return t, err
	}
	raw = unwrap(raw, []string{"status", "state", "kind"}, "ticket", "job", "migration")
	if list := asList(raw); len(list) == 1 {
		raw = list[0]
	}
	err = Unmarshal(raw, &t)
	if t.Status = cmp.Or(t.Status, textOf(t.Unknown, "state")); err != nil || t.Status == "" {
		return Ticket{}, q.unclear(raw, ", and tells no status")
	}
	return t, nil
}

// ticketOp begins the errors about a ticket.
func ticketOp(ticket string) string { return "read ticket " + opPart(ticket) }

// mostUnclear is how often WaitTicket asks about a job that was never seen. A ticket may be known a
// little later than it is given out, and be forgotten when its job is over.
const mostUnclear = 4

// A Wait says how WaitTicket waits. Zero values stand for the defaults.
type Wait struct {
	First   time.Duration // the pause before the second request; it doubles with each further one; default 1 second
	Longest time.Duration // the longest pause between two requests; default 30 seconds
	Most    time.Duration // the longest wait in all; default 30 minutes
	Seen    func(Ticket)  // called with the ticket after each request that found it; may be nil
}

// WaitTicket asks about a job until it is over: at once, and then after pauses that begin with
// First and double up to Longest. Each pause is shortened by up to a half at random. WaitTicket
// returns the ticket as it last came, with one of these errors, all of them an *Error:
//
//   - nil when the job is completed
//   - ErrTicketFailed when the job has failed
//   - ErrTicketOpen when the job took longer than Most
//   - the error of ctx, or of Ticket
//
// When Ticket's error is Unclear, because the service doesn't know the ticket or shows no status,
// the wait goes on for a few more requests if the ticket never came, and ends at once if it did.
func (c *Client) WaitTicket(ctx context.Context, ticket string, w Wait) (Ticket, error) {
	wait, longest, most := cmp.Or(w.First, time.Second), cmp.Or(w.Longest, 30*time.Second),
		cmp.Or(w.Most, 30*time.Minute)
	late := fmt.Errorf("%w, after %v", ErrTicketOpen, transport.Round(most))
	bounded, cancel := context.WithTimeoutCause(ctx, most, late)
	defer cancel()
	var last Ticket
	unclear := 0
	for looks := 1; ; looks++ {
		t, err := c.Ticket(bounded, ticket)
		switch {
		case err != nil && bounded.Err() != nil && ctx.Err() == nil:
			return last, &Error{Op: ticketOp(ticket), Attempts: looks, Err: late}
		case Unclear(err):
			if unclear++; last.Status != "" || unclear == mostUnclear {
				return last, err
			}
		case err != nil:
			return last, err
		default:
			last = t
			if w.Seen != nil {
				w.Seen(t)
			}
		}
		switch {
		case t.Completed():
			return t, nil
		case t.Failed():
			return t, &Error{Op: ticketOp(ticket), Attempts: looks, Err: ErrTicketFailed}
		}
		half := min(wait, longest) / 2
		if err := transport.Sleep(bounded, half+c.transport.Draw(half+1)); err != nil {
			return last, &Error{Op: ticketOp(ticket), Attempts: looks, Err: transport.Ended(ctx, err)}
		}
		wait = min(2*wait, longest)
	}
}
