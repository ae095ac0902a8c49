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

	suspected = "suspected" // nobody is told as yet
)

// incidents is the document of the ledger.
type incidents struct {
	List []incident `json:"incidents"`
}

// An incident is a trouble that people are told of: when it begins, while it goes on if they ask for that, and when it is over.
type incident struct {
	Job     string    `json:"job"`
	Reason  string    `json:"reason"`
	ID      string    `json:"id,omitempty"`      // where it began when it was first met: with job and reason its name
	From    string    `json:"from,omitempty"`    // how far it has gone
	Through string    `json:"through,omitempty"` // by now
	Kind    string    `json:"kind"`              // of the last notice
	At      time.Time `json:"at"`                // when a process took it on itself to give that
	By      string    `json:"by"`                // which process: its run, and a token that no other has
	Told    []string  `json:"told,omitempty"`    // which receivers have it
	Known   []string  `json:"known,omitempty"`   // which have been told that it began
	Records []string  `json:"records,omitempty"` // that it is about, as in Trouble
}

const (
	// over is how long the end of an incident is remembered, so that a slow process doesn't tell of it again.
	over = 48 * time.Hour
	// ripe is after what time something is missing, although other processes are at work on it.
	ripe = 6 * time.Hour
)

func (i incident) concerns(t Trouble) bool { return i.Job == t.Job && i.Reason == t.Reason }

func (i incident) name() string {
	return "reportferry/" + url.PathEscape(i.Job) + "/" + url.PathEscape(i.Reason) + "/" + i.ID
}

// A notice is what this process tells of an incident.
type notice struct {
	incident
	about Trouble
}

// compare changes the incidents by what this run knows, and gives the notices that this process has taken on itself, also those of an
// earlier change of its own whose answer was lost.
func (n *News) compare(all *incidents) (mine []notice, changed bool) {
	c := comparison{News: n, all: all.List, going: map[int]Trouble{}}
	c.forget()
	for _, t := range n.Troubles {
		c.meet(t)
	}
	for at, i := range c.all {
		t, goesOn := c.going[at]
		if !goesOn {
			c.end(at)
			t = Trouble{Job: i.Job, Reason: i.Reason, From: i.From, Through: i.Through}
		}
		if i = c.all[at]; i.By == n.by {
			mine = append(mine, notice{i, t})
		}
	}
	all.List = c.all
	return mine, c.changed
}

type comparison struct {
	*News
	all     []incident
	going   map[int]Trouble // what goes on, by the place of its incident
	changed bool
}

// forget drops what has long been over. Incidents about records stay for as long as one of them is there, or may be, so that nobody hears
// of it again.
func (c *comparison) forget() {
	before := len(c.all)
	c.all = slices.DeleteFunc(c.all, func(i incident) bool {
		there := i.Records != nil && !slices.Contains(c.Jobs, i.Job) || slices.ContainsFunc(c.Troubles, func(t Trouble) bool {
			return i.concerns(t) && slices.ContainsFunc(i.Records, func(r string) bool { return slices.Contains(t.Records, r) })
		})
		return i.Kind == resolved && c.Now.Sub(i.At) > over && !there
	})
	c.changed = len(c.all) != before
}

// meet finds the incidents that a trouble belongs to, or begins one.
func (c *comparison) meet(t Trouble) {
	id, known := t.From, false
	if t.Records != nil {
		if t = c.unknown(t); t.Records == nil {
			return
		}
		id = t.Records[0]
	}
	for at, i := range c.all {
		if t.Records == nil && i.concerns(t) && i.Kind != resolved && i.Records == nil && t.joins(i.From, i.Through) {
			known = true
			c.goOn(at, t)
		}
	}
	if known {
		return
	}
	at := slices.IndexFunc(c.all, func(i incident) bool { return i.concerns(t) && i.ID == id })
	if at < 0 {
		at = len(c.all)
		c.all = append(c.all, incident{Job: t.Job, Reason: t.Reason, ID: id})
	}
	i := &c.all[at] // it is new, or was over and is back
	i.From, i.Through, i.Known, i.Records = t.From, t.through(), nil, t.Records
	c.going[at] = t
	if c.Shared[t.Job] && t.Reason == Stale { // who is at work on it is sooner done than anybody could help
		c.take(at, suspected)
	} else {
		c.take(at, opened)
	}
}

// unknown is a trouble with those of its records that no incident is about. Incidents about the others go on, unless they are of the past,
// and a run that began after them finds that all have heard of them.
func (c *comparison) unknown(t Trouble) Trouble {
	place := map[string]int{}
	for at, i := range c.all {
		for _, r := range i.Records {
			if i.concerns(t) {
				place[r] = at
			}
		}
	}
	left := t
	left.Records = nil
	for _, r := range t.Records {
		at, known := place[r]
		if !known {
			left.Records = append(left.Records, r)
			continue
		}
		i := c.all[at]
		heard := !slices.ContainsFunc(c.Receivers, func(to Receiver) bool { return to.awaits(i) })
		if ended := t.Past && heard && c.Began.After(i.At); i.Kind != resolved && !ended {
			on := t
			on.From, on.Through, on.Count, on.Records = i.From, i.Through, len(i.Records), i.Records
			c.goOn(at, on)
		}
	}
	if left.Records != nil {
		left.Count = len(left.Records)
		left.From, _, _ = strings.Cut(left.Records[0], "@")
		left.Through, _, _ = strings.Cut(left.Records[left.Count-1], "@")
	}
	return left
}

func (c *comparison) goOn(at int, t Trouble) {
	if _, is := c.going[at]; is {
		return
	}
	c.going[at] = t
	i := &c.all[at]
	if from, through := min(i.From, t.From), max(i.Through, t.through()); from != i.From || through != i.Through {
		i.From, i.Through, c.changed = from, through, true
	}
	switch {
	case i.Kind == suspected && (!c.Shared[t.Job] || c.Now.Sub(i.At) >= ripe):
		c.take(at, opened)
	case c.unsent(*i):
		c.take(at, i.Kind)
	case slices.ContainsFunc(c.Receivers, func(r Receiver) bool {
		return r.Remind > 0 && c.Now.Sub(i.At) >= r.Remind && slices.Contains(i.Known, r.Name)
	}):
		c.take(at, reminded)
	}
}

// end ends an incident of which this run knows no trouble, unless the run knows too little to say that it is over.
func (c *comparison) end(at int) {
	i := c.all[at]
	switch {
	case i.Kind == resolved:
		if c.unsent(i) {
			c.take(at, resolved)
		}
	case !slices.Contains(c.Jobs, i.Job), slices.ContainsFunc(c.Running, func(t Trouble) bool { return t.Job == i.Job && t.joins(i.From, i.Through) }):
	case !slices.Contains(ofRuns, i.Reason) || c.Calm[i.Job] && c.Began.After(i.At): // another task may just have met it
		c.take(at, resolved)
	}
}

// take has this process give the next notice of an incident.
func (c *comparison) take(at int, kind string) {
	i := &c.all[at]
	if kind != i.Kind || !c.unsent(*i) {
		i.Told = nil
	}
	i.Kind, i.At, i.By = kind, c.Now.UTC(), c.by
	c.changed = true
}

// unsent tells whether somebody who wants a notice hasn't got it, and whoever took it has had the time to send it.
func (c *comparison) unsent(i incident) bool {
	return c.Now.Sub(i.At) > patience && slices.ContainsFunc(c.Receivers, func(r Receiver) bool { return r.awaits(i) })
}

// awaits tells whether a receiver is to get a notice that it hasn't got. Of an end only those are told who know of the beginning.
func (r Receiver) awaits(i incident) bool {
	return i.Kind != suspected && (len(r.On) == 0 || slices.Contains(r.On, i.Reason) && (i.Kind != resolved || slices.Contains(r.On, Resolved))) &&
		(len(r.Jobs) == 0 || slices.Contains(r.Jobs, i.Job)) && !slices.Contains(i.Told, r.Name) &&
		(i.Kind == opened || slices.Contains(i.Known, r.Name)) && (i.Kind != reminded || r.Remind > 0)
}

// record notes who has been told. Of an incident that another process has told of since, only that it was heard of is still of use.
func (all *incidents) record(heard []notice) (changed bool) {
	for _, t := range heard {
		at := slices.IndexFunc(all.List, func(i incident) bool { return i.name() == t.name() })
		if at < 0 || len(t.Told) == 0 {
			continue
		}
		i := &all.List[at]
		if i.By == t.By {
			i.Told, changed = union(i.Told, t.Told), true
		}
		if t.Kind == opened {
			i.Known, changed = union(i.Known, t.Told), true
		}
	}
	return changed
}

func union(a, b []string) []string {
	a = append(slices.Clone(a), b...)
	slices.Sort(a)
	return slices.Compact(a)
}
