package notify

import (
	"slices"
	"strings"
	"time"
)

// The kinds of notices.
const (
	opened   = "opened"
	reminded = "reminded"
	resolved = "resolved"

	suspected = "suspected" // nobody is told as yet
)

// An incident is a trouble that people are told of: when it begins, while it goes on if they ask for that, and when it is over.
type incident struct {
	ID      string    `json:"id,omitempty"`      // where it began when it was first met: with job and reason its name
	From    string    `json:"from,omitempty"`    // how far it has gone
	Through string    `json:"through,omitempty"` // by now
	Kind    string    `json:"kind"`              // of the last notice
	At      time.Time `json:"at"`                // when a process took it on itself to give that
	By      string    `json:"by"`                // which process: its run, and a mark that no other has
	Told    []string  `json:"told,omitempty"`    // which receivers have it
	Seen    []string  `json:"seen,omitempty"`    // which have been told that it began
	Records []string  `json:"records,omitempty"` // that it is about, as in Trouble
}

// over is how long the end of an incident is remembered, so that a slow process doesn't tell of it again.
const over = 48 * time.Hour

// ripe is after what time something is missing, although other processes are at work on it.
const ripe = 6 * time.Hour

// A notice is what this process tells of an incident.
type notice struct {
	subject
	incident
	about Trouble
}

func (n notice) name() string { return "reportferry/" + n.under() + n.ID }

// take changes a page by what this run knows, and gives the notices that this process has taken on itself.
func (n *News) take(p *page) (mine []notice, changed bool) {
	e := edit{News: n, page: p, going: map[int]Trouble{}}
	e.forget()
	for _, t := range n.Troubles {
		if t.Job == p.Job && t.Reason == p.Reason {
			e.meet(t)
		}
	}
	e.end()
	return e.mine(), e.changed
}

// An edit changes a page by what a run knows.
type edit struct {
	*News
	page    *page
	going   map[int]Trouble // what goes on, by incidents
	changed bool
}

// forget drops what has long been over, and records that are there no more: of one that is there, nobody shall hear again.
func (e *edit) forget() {
	known := !slices.Contains(e.Jobs, e.page.Job) // those that there are aren't known
	there := map[string]bool{}
	for _, t := range e.Troubles {
		for _, r := range t.Records {
			there[r] = there[r] || t.Job == e.page.Job && t.Reason == e.page.Reason
		}
	}
	kept := slices.DeleteFunc(e.page.Incidents, func(i incident) bool {
		stands := i.Records != nil && known || slices.ContainsFunc(i.Records, func(r string) bool { return there[r] })
		return i.Kind == resolved && e.Now.Sub(i.At) > over && !stands
	})
	e.changed = len(kept) != len(e.page.Incidents)
	e.page.Incidents = kept
}

// follow has this process give the next notice of an incident.
func (e *edit) follow(at int, kind string) {
	i := &e.page.Incidents[at]
	if kind != i.Kind || !e.pending(e.page.subject, *i) {
		i.Told = nil
	}
	i.Kind, i.At, i.By = kind, e.Now.UTC(), e.by
	e.changed = true
}

// meet finds the incident that a trouble belongs to, or begins one.
func (e *edit) meet(t Trouble) {
	id, known := t.From, false
	if t.Records != nil {
		t = e.fresh(t)
		if known = t.Records == nil; !known {
			id = t.Records[0]
		}
	} else {
		for at, i := range e.page.Incidents {
			if i.Kind != resolved && i.Records == nil && t.joins(i.From, i.Through) {
				known = true
				e.goOn(at, t)
			}
		}
	}
	if known {
		return
	}
	at := slices.IndexFunc(e.page.Incidents, func(i incident) bool { return i.ID == id })
	if at < 0 {
		at = len(e.page.Incidents)
		e.page.Incidents = append(e.page.Incidents, incident{ID: id})
	}
	i := &e.page.Incidents[at] // it is new, or was over and is back
	i.From, i.Through, i.Seen, i.Records = t.From, t.through(), nil, t.Records
	e.going[at] = t
	if e.Shared[t.Job] && t.Reason == Stale { // who is at work on it is sooner done than anybody could help
		e.follow(at, suspected)
	} else {
		e.follow(at, opened)
	}
}

func (e *edit) goOn(at int, t Trouble) {
	if _, is := e.going[at]; is {
		return
	}
	e.going[at] = t
	i := &e.page.Incidents[at]
	if from, through := min(i.From, t.From), max(i.Through, t.through()); from != i.From || through != i.Through {
		i.From, i.Through, e.changed = from, through, true
	}
	switch {
	case i.Kind == suspected && (!e.Shared[t.Job] || e.Now.Sub(i.At) >= ripe):
		e.follow(at, opened)
	case e.pending(e.page.subject, *i):
		e.follow(at, i.Kind)
	case e.due(e.page.subject, *i):
		e.follow(at, reminded)
	}
}

// end ends the incidents that are over. Of one that was only suspected nobody hears.
func (e *edit) end() {
	for at, i := range e.page.Incidents {
		if _, is := e.going[at]; !is && (i.Kind == resolved && e.pending(e.page.subject, i) || i.Kind != resolved && e.over(e.page.subject, i)) {
			e.follow(at, resolved)
		}
	}
}

// mine are the notices that this process is to give, also those of an edit that was written although its writer couldn't tell.
func (e *edit) mine() (list []notice) {
	for at, i := range e.page.Incidents {
		if i.By != e.by {
			continue
		}
		about, is := e.going[at]
		if !is {
			about = Trouble{Job: e.page.Job, Reason: e.page.Reason, From: i.From, Through: i.Through}
		}
		list = append(list, notice{e.page.subject, i, about})
	}
	return list
}

// record notes who has been told. Of an incident that another process has told of since, only that it was heard of is still of use.
func (p *page) record(told []notice) (changed bool) {
	for _, t := range told {
		at := slices.IndexFunc(p.Incidents, func(i incident) bool { return i.ID == t.ID })
		if at < 0 {
			continue
		}
		i := &p.Incidents[at]
		if i.By == t.By {
			i.Told = union(i.Told, t.Told)
			changed = true
		}
		if t.Kind == opened {
			i.Seen = union(i.Seen, t.Told)
			changed = true
		}
	}
	return changed
}

func union(a, b []string) []string {
	a = append(slices.Clone(a), b...)
	slices.Sort(a)
	return slices.Compact(a)
}

// over tells whether an incident is over, of which this run knows no trouble. It isn't while the run knows too little to say so.
func (n *News) over(s subject, i incident) bool {
	if !slices.Contains(n.Jobs, s.Job) || slices.ContainsFunc(n.Running, func(t Trouble) bool { return t.Job == s.Job && t.joins(i.From, i.Through) }) {
		return false
	}
	return !slices.Contains(ofRuns, s.Reason) || n.Calm[s.Job] && n.Began.After(i.At) // another task may just have met it
}

// pending tells whether somebody who wants a notice hasn't got it, and whoever took it has had the time to send it.
func (n *News) pending(s subject, i incident) bool {
	return n.Now.Sub(i.At) > patience && slices.ContainsFunc(n.Receivers, func(r Receiver) bool { return r.awaits(s, i) })
}

// due tells whether somebody wants to be reminded by now.
func (n *News) due(s subject, i incident) bool {
	return slices.ContainsFunc(n.Receivers, func(r Receiver) bool {
		return r.Remind > 0 && n.Now.Sub(i.At) >= r.Remind && slices.Contains(i.Seen, r.Name)
	})
}

// awaits tells whether a receiver is to get a notice that it hasn't got. Of an end only those are told who know of the beginning.
func (r Receiver) awaits(s subject, i incident) bool {
	return i.Kind != suspected && r.wants(i.Kind, s.Job, s.Reason) && !slices.Contains(i.Told, r.Name) && (i.Kind == opened || slices.Contains(i.Seen, r.Name)) &&
		(i.Kind != reminded || r.Remind > 0)
}

// wants tells whether a receiver is to be told of a trouble of this kind.
func (r Receiver) wants(kind, job, reason string) bool {
	return (len(r.On) == 0 || slices.Contains(r.On, reason)) && (len(r.Jobs) == 0 || slices.Contains(r.Jobs, job)) &&
		(kind != resolved || len(r.On) == 0 || slices.Contains(r.On, Resolved))
}

// fresh is a trouble with those of its records that no incident is about. Incidents about the others go on, unless they are of the past,
// and a run that began after them finds that all have heard of them.
func (e *edit) fresh(t Trouble) Trouble {
	about := map[string]int{}
	for at, i := range e.page.Incidents {
		for _, r := range i.Records {
			about[r] = at
		}
	}
	var fresh []string
	for _, r := range t.Records {
		at, known := about[r]
		if !known {
			fresh = append(fresh, r)
			continue
		}
		i := e.page.Incidents[at]
		heard := !slices.ContainsFunc(e.Receivers, func(to Receiver) bool { return to.awaits(e.page.subject, i) })
		if ended := t.Past && heard && e.Began.After(i.At); i.Kind != resolved && !ended {
			on := t
			on.From, on.Through, on.Count, on.Records = i.From, i.Through, len(i.Records), i.Records
			e.goOn(at, on)
		}
	}
	if t.Records = fresh; fresh != nil {
		t.Count = len(fresh)
		t.From, _, _ = strings.Cut(fresh[0], "@")
		t.Through, _, _ = strings.Cut(fresh[len(fresh)-1], "@")
	}
	return t
}
