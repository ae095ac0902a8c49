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

	"golang.org/x/sync/errgroup"

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

// atOnce is how many subjects are changed at the same time.
const atOnce = 16

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
	b := bookOf(n.Ledger)
	subjects, err := b.subjects(ctx)
	if err != nil {
		return err
	}
	for _, t := range n.Troubles {
		if s := (subject{t.Job, t.Reason}); !slices.Contains(subjects, s) {
			subjects = append(subjects, s)
		}
	}
	taken := make([][]notice, len(subjects))
	err = each(subjects, func(i int, s subject) error {
		return b.change(ctx, s, func(p *page) (changed bool) {
			taken[i], changed = n.take(p)
			return changed
		})
	})
	if err != nil {
		return err // what was taken is sent by a later run
	}
	mine := slices.Concat(taken...)
	err = n.send(ctx, mine)
	return errors.Join(err, each(subjects, func(_ int, s subject) error {
		told := slices.DeleteFunc(slices.Clone(mine), func(m notice) bool { return m.subject != s || len(m.Told) == 0 })
		if len(told) == 0 {
			return nil
		}
		return b.change(ctx, s, func(p *page) bool { return p.record(told) })
	}))
}

// each does something with many subjects, several at a time.
func each(list []subject, do func(int, subject) error) error {
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i, s := range list {
		g.Go(func() error { return do(i, s) })
	}
	return g.Wait()
}

// A letter is the message for one receiver.
type letter struct {
	to      Receiver
	of      []int // of the notices
	message Message
}

// send sends each receiver one message of what this process has taken, and notes in that who has got it.
func (n *News) send(ctx context.Context, mine []notice) error {
	var letters []letter
	for _, r := range n.Receivers {
		l := letter{to: r}
		var list []notice
		for i, m := range mine {
			if r.awaits(m.subject, m.incident) {
				l.of, list = append(l.of, i), append(list, m)
			}
		}
		if len(list) > 0 {
			l.message = n.message(list)
			letters = append(letters, l)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, SendTime)
	defer cancel()
	errs := make([]error, len(letters))
	var wg sync.WaitGroup
	for i, l := range letters {
		wg.Go(func() { errs[i] = l.to.Send(ctx, l.message) })
	}
	wg.Wait()
	for i, l := range letters {
		if errs[i] != nil {
			errs[i] = fmt.Errorf("%s: %w", l.to.Name, errs[i])
			continue
		}
		for _, at := range l.of {
			mine[at].Told = append(mine[at].Told, l.to.Name)
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
