package notify

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
)

const (
	// TellTime is how long all messages of a run may take. The run waits for them.
	TellTime = 10 * time.Second
	// SendTime is how much of that sending may take.
	SendTime = 7 * time.Second
	// patience is how long somebody who has taken a notice may take to send it. Then another run does.
	patience = time.Minute
	// mostLines is how many incidents a message tells of by themselves.
	mostLines = 10
)

// A Receiver is somebody who is told.
type Receiver struct {
	Name   string        // the reference to the address, which is no secret
	On     []string      // which reasons; none: all
	Jobs   []string      // which jobs; none: all
	Remind time.Duration // how often of what goes on; 0: never
	Send   func(context.Context, Message) error
}

// A Message tells of all that has changed for one receiver.
type Message struct {
	Title string
	Lines []string
	Items []Item
	Link  string // to the console; empty: there is none
}

// An Item is one incident of a message.
type Item struct {
	Trouble
	Kind string // opened, reminded or resolved
	ID   string // the same for all messages about an incident
}

// Text is the message as plain text.
func (m Message) Text() string {
	text := m.Title + "\n\n" + strings.Join(m.Lines, "\n")
	if m.Link != "" {
		text += "\n\n" + m.Link
	}
	return text
}

// News is what a run knows.
type News struct {
	Ledger    *ledger.Ledger
	Run       string
	Began     time.Time
	Jobs      []string        // that the run has looked at: what was wrong with others isn't over
	Calm      map[string]bool // of those, the ones that the run ended without a failure
	Shared    map[string]bool // jobs of which other processes may still have a part to do
	Troubles  []Trouble
	Running   []Trouble // what is being fetched by another process: whether anything is wrong with it isn't known
	Receivers []Receiver
	Link      string
	Now       time.Time

	by string
}

// ofRuns are the reasons that only a run's own errors show. Of the others the ledger tells.
var ofRuns = []string{Denied, Conflict, Schema, Failed}

// document is the one of the ledger that the incidents are in.
func document(l *ledger.Ledger) *ledger.Document[incidents] {
	return ledger.NewDocument[incidents](l, "incidents.json", "")
}

// Tell tells receivers what is new, goes on or is over. An incident is told of once, whoever else finds it: by whoever writes it in the
// ledger first. Who dies after that, or can't send, leaves it to the next run. So a message may come twice after a crash, and never not at
// all.
func Tell(ctx context.Context, n News) error {
	if len(n.Receivers) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), TellTime)
	defer cancel()
	n.by = n.Run + " " + rand.Text()
	d := document(n.Ledger)
	known, _, err := d.Load(ctx)
	var damaged *ledger.DamagedError
	if errors.As(err, &damaged) { // to tell of an incident each time is better than never
		damaged.Lacks = "what goes on is told of once more"
		mine, _ := n.compare(&known)
		return errors.Join(err, n.send(ctx, mine))
	}
	if err != nil {
		return err
	}
	var mine []notice
	if err := d.Change(ctx, change(func(all *incidents) (changed bool) {
		mine, changed = n.compare(all)
		return changed
	})); err != nil {
		return err // what was taken is sent by a later run
	}
	err = n.send(ctx, mine)
	return errors.Join(err, d.Change(ctx, change(func(all *incidents) bool { return all.record(mine) })))
}

// change is a change of the document by a function that says whether there is anything to write. To make one twice does no harm.
func change(edit func(*incidents) bool) ledger.Change[incidents] {
	return ledger.Change[incidents]{Apply: func(all *incidents) error {
		if !edit(all) {
			return ledger.ErrNothing
		}
		return nil
	}}
}

// send sends each receiver one message of what this process has taken, and notes in that who has got it.
func (n *News) send(ctx context.Context, mine []notice) error {
	ctx, cancel := context.WithTimeout(ctx, SendTime)
	defer cancel()
	var all sync.WaitGroup
	errs, sent := make([]error, len(n.Receivers)), make([][]int, len(n.Receivers))
	for at, r := range n.Receivers {
		var list []notice
		for i, m := range mine {
			if r.awaits(m.incident) {
				sent[at], list = append(sent[at], i), append(list, m)
			}
		}
		if len(list) == 0 {
			continue
		}
		all.Go(func() {
			if err := r.Send(ctx, n.message(list)); err != nil {
				errs[at] = fmt.Errorf("%s: %w", r.Name, err)
			}
		})
	}
	all.Wait()
	for at, r := range n.Receivers {
		for _, i := range sent[at] {
			if errs[at] == nil {
				mine[i].Told = append(mine[i].Told, r.Name)
			}
		}
	}
	return errors.Join(errs...)
}

// message is what a receiver is told: one message, however much has happened.
func (n *News) message(list []notice) Message {
	slices.SortStableFunc(list, func(a, b notice) int {
		return slices.Index(Reasons, a.Reason) - slices.Index(Reasons, b.Reason)
	})
	count := map[string]int{}
	m := Message{Link: n.Link}
	for i, t := range list {
		count[t.Kind]++
		m.Items = append(m.Items, Item{Trouble: t.about, Kind: t.Kind, ID: t.name()})
		if i < mostLines {
			m.Lines = append(m.Lines, t.about.line(t.Kind))
		}
	}
	if more := len(list) - mostLines; more > 0 {
		m.Lines = append(m.Lines, fmt.Sprintf("and %d more; `reportferry status` and `reportferry gaps` list them", more))
	}
	var parts []string
	for _, c := range []struct{ kind, word string }{{opened, "new"}, {reminded, "going on"}, {resolved, "over"}} {
		if count[c.kind] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[c.kind], c.word))
		}
	}
	m.Title = "reportferry: " + strings.Join(parts, ", ")
	if len(list) == 1 {
		t := list[0]
		m.Title = fmt.Sprintf("reportferry: %s: %s", t.Job, t.about.title())
		if t.Kind == resolved {
			m.Title += ", over"
		}
	}
	return m
}
