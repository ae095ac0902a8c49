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

	suspected = "suspected" // no message is sent as yet
)

// incidents is the document of the ledger.
type incidents struct {
	List []*incident `json:"incidents"`
}

// An incident is a problem that messages are sent about: when it begins, while it goes on if a
// receiver asks for that, and when it is over.
type incident struct {
	Job       string    `json:"job"`
	Reason    string    `json:"reason"`
	ID        string    `json:"id,omitempty"`      // where it began when it was first met: with job and reason its name
	From      string    `json:"from,omitempty"`    // how far it has gone
	Through   string    `json:"through,omitempty"` // by now
	Kind      string    `json:"kind"`              // of the last notice
	At        time.Time `json:"at"`                // when a process claimed that
	By        string    `json:"by"`                // which process: its run, and a token that no other has
	Delivered []string  `json:"told,omitempty"`    // which receivers have it
	Known     []string  `json:"known,omitempty"`   // which have the one that it began
	Records   []string  `json:"records,omitempty"` // that it is about, as in Problem

	now *Problem // what this run knows of it; nil: it isn't there
}

const (
	// over is how long the end of an incident is remembered, so that a slow process doesn't send it
	// again.
	over = 48 * time.Hour
	// ripe is after what time something is missing, although other processes are at work on it.
	ripe = 6 * time.Hour
)

// ofRuns are the reasons that only a run's own errors show. The ledger shows the others.
var ofRuns = []string{Denied, Conflict, Schema, Failed}

func (i *incident) concerns(p Problem) bool { return i.Job == p.Job && i.Reason == p.Reason }

func (i *incident) name() string {
	return "reportferry/" + url.PathEscape(i.Job) + "/" + url.PathEscape(i.Reason) + "/" + i.ID
}

// compare changes the incidents by what this run knows, and gives copies of those whose next notice
// this process has claimed, also by an earlier change of its own whose answer was lost.
func (n *News) compare(all *incidents) (mine []*incident) {
	all.List = slices.DeleteFunc(all.List, n.forgets)
	for _, p := range n.Problems {
		if p.Records == nil {
			n.matchRange(all, p)
		} else {
			n.matchRecords(all, p)
		}
	}
	for _, i := range all.List {
		if i.now == nil {
			n.end(i)
		}
		if i.By == n.by {
			claimed := *i
			mine = append(mine, &claimed)
		}
	}
	return mine
}

// forgets reports whether an incident has long been over. One about records stays for as long as
// one of them is there, or may be, so that no message is sent about it again.
func (n *News) forgets(i *incident) bool {
	return i.Kind == resolved && n.Now.Sub(i.At) > over && (i.Records == nil || slices.Contains(n.Jobs, i.Job)) &&
		!slices.ContainsFunc(n.Problems, func(p Problem) bool {
			return i.concerns(p) &&
				slices.ContainsFunc(p.Records, i.about)
		})
}

func (i *incident) about(record string) bool { return slices.Contains(i.Records, record) }

// matchRange finds the incidents that a problem belongs to, or begins one.
func (n *News) matchRange(all *incidents, p Problem) {
	known := false
	for _, i := range all.List {
		if i.concerns(p) && i.Kind != resolved && i.Records == nil && p.joins(i.From, i.Through) {
			known = true
			n.goOn(i, p)
		}
	}
	if !known {
		n.open(all, p, p.From)
	}
}

// matchRecords begins an incident about those records of a problem that no incident is about.
// Incidents about the others go on, unless they are of the past, and a run that began after them
// finds that all receivers have them.
func (n *News) matchRecords(all *incidents, p Problem) {
	left := slices.Clone(p.Records)
	for _, i := range all.List {
		if before := len(left); i.concerns(p) {
			if left = slices.DeleteFunc(left, i.about); len(left) == before || i.Kind == resolved || p.Past &&
				!n.awaited(i) && n.Began.After(i.At) {
				continue
			}
			on := p
			on.From, on.Through, on.Count, on.Records = i.From, i.Through, len(i.Records), i.Records
			n.goOn(i, on)
		}
	}
	if len(left) > 0 {
		p.Records, p.Count = left, len(left)
		p.From, _, _ = strings.Cut(left[0], "@")
		p.Through, _, _ = strings.Cut(left[len(left)-1], "@")
		n.open(all, p, left[0])
	}
}

// open begins an incident, which is new, or was over and is back.
func (n *News) open(all *incidents, p Problem, id string) {
	at := slices.IndexFunc(all.List, func(i *incident) bool { return i.concerns(p) && i.ID == id })
	if at < 0 {
		at = len(all.List)
		all.List = append(all.List, &incident{Job: p.Job, Reason: p.Reason, ID: id})
	}
	i := all.List[at]
	i.From, i.Through, i.Known, i.Records, i.now = p.From, p.through(), nil, p.Records, &p
	if n.Shared[p.Job] && p.Reason == Stale { // a process at work on it is sooner done than anybody could help
		n.claim(i, suspected)
	} else {
		n.claim(i, opened)
	}
}

// goOn claims what is due of an incident that goes on.
func (n *News) goOn(i *incident, p Problem) {
	if i.now != nil {
		return
	}
	i.now, i.From, i.Through = &p, min(i.From, p.From), max(i.Through, p.through())
	switch {
	case i.Kind == suspected && (!n.Shared[p.Job] || n.Now.Sub(i.At) >= ripe):
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
		return p.Job == i.Job &&
			p.joins(i.From, i.Through)
	}):
	case !slices.Contains(ofRuns, i.Reason) || n.Calm[i.Job] &&
		n.Began.After(i.At): // another task may just have met it
		n.claim(i, resolved)
	}
}

// claim has this process send the next notice of an incident.
func (n *News) claim(i *incident, kind string) {
	if kind != i.Kind || !n.unsent(i) {
		i.Delivered = nil
	}
	i.Kind, i.At, i.By = kind, n.Now.UTC(), n.by
}

// unsent reports whether a receiver that awaits a notice hasn't got it, and the process that
// claimed it has had the time to send it.
func (n *News) unsent(i *incident) bool { return n.Now.Sub(i.At) > patience && n.awaited(i) }

func (n *News) awaited(i *incident) bool {
	return slices.ContainsFunc(n.Receivers, func(r Receiver) bool { return r.awaits(i) })
}

// awaits reports whether a receiver is to get a notice that it hasn't got. An end is for those only
// that know of the beginning.
func (r Receiver) awaits(i *incident) bool {
	return i.Kind != suspected && (len(r.On) == 0 || slices.Contains(r.On, i.Reason) &&
		(i.Kind != resolved || slices.Contains(r.On, Resolved))) &&
		(len(r.Jobs) == 0 || slices.Contains(r.Jobs, i.Job)) && !slices.Contains(i.Delivered, r.Name) &&
		(i.Kind == opened || slices.Contains(i.Known, r.Name)) && (i.Kind != reminded || r.Remind > 0)
}

// record notes which receivers have got which notices. Where another process has claimed a notice
// since, only the beginning is still of use.
func (all *incidents) record(sent []*incident) {
	for _, s := range sent {
		for _, i := range all.List {
			if i.name() != s.name() {
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

func union(a, b []string) []string {
	a = slices.Concat(a, b)
	slices.Sort(a)
	return slices.Compact(a)
}
