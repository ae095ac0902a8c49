package notify

import (
	"net/url"
	"slices"
	"strings"
	"time"
)

// The kinds of notices.
const (
	opened   = "opened"
	reminded = "reminded"
	resolved = "resolved"

	suspected = "suspected" // it may pass by itself, so no message is sent yet
)

// incidents is the content of the ledger's document of incidents.
type incidents struct {
	List []*incident `json:"incidents"`
}

// An incident is a problem that messages are sent about: when it begins, while it goes on if a
// receiver asks for that, and when it is over.
type incident struct {
	Job       string    `json:"job"`
	Reason    string    `json:"reason"`
	ID        string    `json:"id,omitempty"`      // first partition or record when it began; see messageID
	From      string    `json:"from,omitempty"`    // first partition of all that it has been about
	Through   string    `json:"through,omitempty"` // last partition of them
	Kind      string    `json:"kind"`              // of the last notice
	At        time.Time `json:"at"`                // when a process claimed that notice
	By        string    `json:"by"`                // which process did: its run, and a token that no other has
	Delivered []string  `json:"told,omitempty"`    // receivers that have got that notice
	Known     []string  `json:"known,omitempty"`   // receivers that have got the notice that it began
	Records   []string  `json:"records,omitempty"` // what it is about, as in Problem

	problem *Problem // the problem as this run knows it; nil: this run knows none
}

const (
	// rememberTime is how long an incident that has ended is remembered, so that a slow process
	// doesn't send its end again.
	rememberTime = 48 * time.Hour
	// suspectTime is how long something may be missing before a message is sent although other
	// processes are at work on it.
	suspectTime = 6 * time.Hour
)

// runReasons are the reasons that only a run's own errors show. The ledger shows all other
// problems.
var runReasons = []string{Denied, Conflict, Schema, Failed}

// concerns reports whether the incident has the job and the reason of a problem.
func (i *incident) concerns(p Problem) bool { return i.Job == p.Job && i.Reason == p.Reason }

// messageID returns the ID that the incident has in all messages about it.
func (i *incident) messageID() string {
	return "reportferry/" + url.PathEscape(i.Job) + "/" + url.PathEscape(i.Reason) + "/" + i.ID
}

// compare updates the incidents by the problems that this run knows. It returns copies of those
// whose next notice this process has claimed, now or by an earlier write of the document whose
// answer was lost.
func (n *News) compare(all *incidents) (mine []*incident) {
	all.List = slices.DeleteFunc(all.List, n.forgettable)
	for _, p := range n.Problems {
		if p.Records == nil {
			n.matchRange(all, p)
		} else {
			n.matchRecords(all, p)
		}
	}
	for _, i := range all.List {
		if i.problem == nil {
			n.end(i)
		}
		if i.By == n.process {
			claimed := *i
			mine = append(mine, &claimed)
		}
	}
	return mine
}

// forgettable reports whether an incident has long been over. An incident about records is kept for
// as long as a problem has one of them, or may have one, so that no message is sent about it again.
func (n *News) forgettable(i *incident) bool {
	return i.Kind == resolved && n.Now.Sub(i.At) > rememberTime &&
		(i.Records == nil || slices.Contains(n.Jobs, i.Job)) &&
		!slices.ContainsFunc(n.Problems, func(p Problem) bool {
			return i.concerns(p) && slices.ContainsFunc(p.Records, i.hasRecord)
		})
}

// hasRecord reports whether a record is one of the incident's.
func (i *incident) hasRecord(record string) bool { return slices.Contains(i.Records, record) }

// matchRange continues the incidents that a problem about a range belongs to, or begins one.
func (n *News) matchRange(all *incidents, p Problem) {
	known := false
	for _, i := range all.List {
		if i.concerns(p) && i.Kind != resolved && i.Records == nil && p.joins(i.From, i.Through) {
			known = true
			n.continueIncident(i, p)
		}
	}
	if !known {
		n.begin(all, p, p.From)
	}
}

// matchRecords begins an incident about those records of a problem that no incident is about.
// Incidents about the problem's other records go on, unless all of this holds:
//   - the problem is Past
//   - this run began after the incident's last notice was claimed
//   - no receiver still awaits that notice
func (n *News) matchRecords(all *incidents, p Problem) {
	left := slices.Clone(p.Records)
	for _, i := range all.List {
		if before := len(left); i.concerns(p) {
			if left = slices.DeleteFunc(left, i.hasRecord); len(left) == before || i.Kind == resolved || p.Past &&
				!n.awaited(i) && n.Began.After(i.At) {
				continue
			}
			same := p // the problem, as far as this incident is about it
			same.From, same.Through, same.Count, same.Records = i.From, i.Through, len(i.Records), i.Records
			n.continueIncident(i, same)
		}
	}
	if len(left) > 0 {
		p.Records, p.Count = left, len(left)
		p.From, _, _ = strings.Cut(left[0], "@")
		p.Through, _, _ = strings.Cut(left[len(left)-1], "@")
		n.begin(all, p, left[0])
	}
}

// begin begins an incident: a new one, or one that was over and is back.
func (n *News) begin(all *incidents, p Problem, id string) {
	at := slices.IndexFunc(all.List, func(i *incident) bool { return i.concerns(p) && i.ID == id })
	if at < 0 {
		at = len(all.List)
		all.List = append(all.List, &incident{Job: p.Job, Reason: p.Reason, ID: id})
	}
	i := all.List[at]
	i.From, i.Through, i.Known, i.Records, i.problem = p.From, p.through(), nil, p.Records, &p
	if n.Shared[p.Job] && p.Reason == Stale { // a process at work on it is done before a person could help
		n.claim(i, suspected)
	} else {
		n.claim(i, opened)
	}
}

// continueIncident updates an incident that goes on, and claims its next notice if one is due.
func (n *News) continueIncident(i *incident, p Problem) {
	if i.problem != nil {
		return
	}
	i.problem, i.From, i.Through = &p, min(i.From, p.From), max(i.Through, p.through())
	switch {
	case i.Kind == suspected && (!n.Shared[p.Job] || n.Now.Sub(i.At) >= suspectTime):
		n.claim(i, opened)
	case n.unsent(i):
		n.claim(i, i.Kind)
	case slices.ContainsFunc(n.Receivers, func(r Receiver) bool {
		return r.Remind > 0 && n.Now.Sub(i.At) >= r.Remind && slices.Contains(i.Known, r.Name)
	}):
		n.claim(i, reminded)
	}
}

// end ends an incident when this run knows no problem of it, unless the run knows too little to say
// that it is over.
func (n *News) end(i *incident) {
	switch {
	case i.Kind == resolved:
		if n.unsent(i) {
			n.claim(i, resolved)
		}
	case !slices.Contains(n.Jobs, i.Job), slices.ContainsFunc(n.Running, func(p Problem) bool {
		return p.Job == i.Job && p.joins(i.From, i.Through)
	}): // this run doesn't know
	case !slices.Contains(runReasons, i.Reason) || n.Calm[i.Job] &&
		n.Began.After(i.At): // another task may just have found it
		n.claim(i, resolved)
	}
}

// claim has this process send the next notice of an incident.
func (n *News) claim(i *incident, kind string) {
	if kind != i.Kind || !n.unsent(i) {
		i.Delivered = nil
	}
	i.Kind, i.At, i.By = kind, n.Now.UTC(), n.process
}

// unsent reports whether a receiver still awaits the incident's notice, although the process that
// claimed it has had the time to send it.
func (n *News) unsent(i *incident) bool { return n.Now.Sub(i.At) > patience && n.awaited(i) }

// awaited reports whether any receiver still awaits the incident's notice.
func (n *News) awaited(i *incident) bool {
	return slices.ContainsFunc(n.Receivers, func(r Receiver) bool { return r.awaits(i) })
}

// awaits reports whether a receiver is to get the incident's notice and hasn't got it:
//   - the incident isn't only suspected
//   - the receiver wants its reason and its job; of the end, it also wants the reason resolved
//   - reminders and the end are only for receivers that have got the beginning, and reminders only
//     for those that ask for them
func (r Receiver) awaits(i *incident) bool {
	return i.Kind != suspected && (len(r.On) == 0 || slices.Contains(r.On, i.Reason) &&
		(i.Kind != resolved || slices.Contains(r.On, Resolved))) &&
		(len(r.Jobs) == 0 || slices.Contains(r.Jobs, i.Job)) && !slices.Contains(i.Delivered, r.Name) &&
		(i.Kind == opened || slices.Contains(i.Known, r.Name)) && (i.Kind != reminded || r.Remind > 0)
}

// record notes which receivers have got which notices. If another process has claimed a notice of
// an incident since, it notes only the receivers of the beginning.
func (all *incidents) record(sent []*incident) {
	for _, s := range sent {
		for _, i := range all.List {
			if i.messageID() != s.messageID() {
				continue
			}
			if i.By == s.By {
				i.Delivered = union(i.Delivered, s.Delivered)
			}
			if s.Kind == opened {
				i.Known = union(i.Known, s.Delivered)
			}
		}
	}
}

// union returns the strings that are in a or b, sorted.
func union(a, b []string) []string {
	a = slices.Concat(a, b)
	slices.Sort(a)
	return slices.Compact(a)
}
