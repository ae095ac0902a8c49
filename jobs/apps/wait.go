package apps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reportferry/reportferry/internal/adjust"
)

// mostLost is the most jobs in a row that are asked for by one declaration when it isn't known how
// they ended and the app still differs.
const mostLost = 2

// wait waits for the migration of the recorded ticket, until TicketWait after the ticket was given
// out. A job that isn't over by then, or whose ticket the service doesn't know, is given up: the
// app is compared instead.
func (w *attempt) wait(ctx context.Context) error {
	w.reportChange()
	if w.record.Ticket == "" { // no job was needed
		w.record.State, w.sent = Done, true
		return nil
	}
	ticket, left, err := adjust.Ticket{}, w.kind.o.TicketWait-time.Since(w.record.At), error(nil)
	if left > 0 {
		ticket, err = w.client.WaitTicket(ctx, w.record.Ticket, adjust.Wait{First: w.kind.o.FirstPoll, Most: left})
	} else if ticket, err = w.client.Ticket(ctx, w.record.Ticket); err == nil && ticket.Failed() {
		err = adjust.ErrTicketFailed
	}
	w.report.Sections = sectionsOf(ticket, w.app.scrub)
	why := failures(w.report.Sections)
	status := w.app.scrub(ticket.Said())
	switch {
	case errors.Is(err, adjust.ErrTicketOpen) && (ticket.Status == "" || ticket.Open()):
		return fmt.Errorf("%w; its status is %q; the next run compares the app again, and sends it anew when it "+
			"still differs; "+
			"apps apply --new-ticket %s does so at once", err, status, w.app.ID())
	case errors.Is(err, adjust.ErrTicketOpen):
		w.giveUp(fmt.Sprintf("ticket %s: its status is still %q after %v", w.record.Ticket, status,
			w.kind.o.TicketWait))
		return nil
	case adjust.Unclear(err):
		w.giveUp(fmt.Sprintf("ticket %s: %v; its last status was %q", w.record.Ticket, err, status))
		return nil
	case errors.Is(err, adjust.ErrTicketFailed), err == nil && ticket.Done() && why != "":
		return w.failed(ctx, true, fmt.Errorf("%w: %s; the next run asks for another", ErrMigration,
			cmp.Or(why, "the service doesn't say why")))
	case err != nil:
		return err
	case !ticket.Done():
		w.giveUp(fmt.Sprintf("ticket %s: its status is still %q after %v", w.record.Ticket, status,
			w.kind.o.TicketWait))
		return nil
	}
	w.record.State, w.record.Lost, w.sent = Done, 0, true
	return nil
}

// giveUp stops waiting for a job. The app is compared afterwards to see what the job did.
func (w *attempt) giveUp(what string) {
	w.report.addSeen(w.app.scrub(what))
	w.record.State, w.sent, w.endUnknown = Done, true, true
	w.record.Lost++
}
