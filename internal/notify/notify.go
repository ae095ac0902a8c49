// Package notify sends people a message when something is wrong with a job, and tells a watcher
// outside how runs begin and end. Without it, a night in which nothing arrived would be noticed by
// whoever misses its numbers.
//
//	problems of a run ─ compare ─▶ incidents.json, by its swap ─ claimed ─▶ one message a receiver ─▶ incidents.json
package notify

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
)

const (
	// RunTime is how long all messages of a run may take. The run waits for them.
	RunTime = 10 * time.Second
	// SendTime is how much of that sending may take.
	SendTime = 7 * time.Second
	// patience is how long a process that has claimed a notice may take to send it. Then another
	// one does.
	patience = time.Minute
)

// A Receiver is somebody who gets messages.
type Receiver struct {
	Name   string        // the reference to the address, which is no secret
	On     []string      // which reasons; none: all
	Jobs   []string      // which jobs; none: all
	Remind time.Duration // how often of what goes on; 0: never
	Send   func(context.Context, Message) error
}

// News is what a run knows of problems, and whom it tells.
type News struct {
	Ledger    *ledger.Ledger
	Run       string
	Began     time.Time
	Jobs      []string        // jobs that the run has inspected; problems of other jobs aren't taken to be over
	Calm      map[string]bool // those of Jobs that the run ended without a failure
	Shared    map[string]bool // jobs on which other processes may still have work to do
	Problems  []Problem
	Running   []Problem // what is being fetched by another process: whether anything is wrong with it isn't known
	Receivers []Receiver
	Link      string // address of the console; empty: there is none
	Now       time.Time

	process string // this process, as in incident.By
}

// document returns the ledger's document that holds the incidents.
func document(l *ledger.Ledger) *ledger.Document[incidents] {
	return ledger.NewDocument[incidents](l, "incidents.json", "")
}

// Send sends receivers what is new, goes on or is over. If several processes find the same
// incident, only the one that claims it in the ledger first sends a message. If that process dies,
// or can't send, the next run does. So after a crash a message may come twice, but none is lost.
func Send(ctx context.Context, n News) error {
	if len(n.Receivers) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), RunTime)
	defer cancel()
	n.process = n.Run + " " + rand.Text()
	d := document(n.Ledger)
	var mine []*incident
	err := d.Change(ctx, change(func(all *incidents) { mine = n.compare(all) }))
	if damaged, is := errors.AsType[*ledger.DamagedError](err); is { // a message each time is better than none
		damaged.Lacks = "what goes on is told of once more"
		return errors.Join(err, n.sendAll(ctx, n.compare(&incidents{})))
	}
	if err != nil {
		return err // a later run sends what was claimed
	}
	err = n.sendAll(ctx, mine)
	return errors.Join(err, d.Change(ctx, change(func(all *incidents) { all.record(mine) })))
}

// change returns a change of the document, which is written only if edit makes a difference. It
// does no harm to apply it twice.
func change(edit func(*incidents)) ledger.Change[incidents] {
	return ledger.Change[incidents]{Apply: func(all *incidents) error {
		before, err := json.Marshal(all)
		edit(all)
		after, failed := json.Marshal(all)
		if err == nil && failed == nil && bytes.Equal(before, after) {
			return ledger.ErrNothing
		}
		return errors.Join(err, failed)
	}}
}

// sendAll sends each receiver one message about the incidents that this process has claimed, and
// notes in each of them which receivers have got it.
func (n *News) sendAll(ctx context.Context, mine []*incident) error {
	ctx, cancel := context.WithTimeout(ctx, SendTime)
	defer cancel()
	var sending sync.WaitGroup
	errs, sent := make([]error, len(n.Receivers)), make([][]*incident, len(n.Receivers))
	for at, r := range n.Receivers {
		for _, i := range mine {
			if r.awaits(i) {
				sent[at] = append(sent[at], i)
			}
		}
		if sent[at] != nil {
			sending.Go(func() {
				if err := r.Send(ctx, n.message(sent[at])); err != nil {
					errs[at] = fmt.Errorf("%s: %w", r.Name, err)
				}
			})
		}
	}
	sending.Wait()
	for at, r := range n.Receivers {
		for _, i := range sent[at] {
			if errs[at] == nil {
				i.Delivered = append(i.Delivered, r.Name)
			}
		}
	}
	return errors.Join(errs...)
}
