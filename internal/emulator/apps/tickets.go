package apps

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// The states of a job. Source: the service's page about the status endpoint.
const (
	ticketNew       = "new"
	ticketOpened    = "opened"
	ticketCompleted = "completed"
	ticketFailed    = "failed"
)

// ticket is a job that copies sections from the template into an app. It takes one step to be
// opened, and one for each section.
type ticket struct {
	Token    string
	App      string // its token
	Template string // the template's token
	Sections []string
	Status   string
	At       time.Time // when it took its last step, or was made
	Done     int       // how many of Sections are over
	Failed   []string  // the sections that failed
	Result   map[string]any
}

// sectionResult is a section in a job's result. Its failures' shape is a guess.
type sectionResult struct {
	Successes []string      `json:"successes"`
	Failures  []itemFailure `json:"failures"`
}

// itemFailure is an item of a section that couldn't be copied.
type itemFailure struct {
	Name   string `json:"name"`
	Detail string `json:"detail"`
}

// blockedResult is the result of a section that was never begun.
type blockedResult struct {
	Section string `json:"section"`
	Detail  string `json:"detail"`
}

// over reports whether the job has ended.
func (t *ticket) over() bool { return t.Status == ticketCompleted || t.Status == ticketFailed }

// queueTicket makes a job for the app, and returns the token of its ticket.
func (c *call) queueTicket(a *accountApp, template string, chosen []string) (string, error) {
	c.queued = true
	var made int
	if err := c.tx.QueryRow("SELECT count(*) FROM tickets WHERE app=?", a.Token).Scan(&made); err != nil {
		return "", fmt.Errorf("queue a job: %w", err)
	}
	r := c.service.streamOf("ticket", a.Token, fmt.Sprint(made))
	hi, lo := r.Next(), r.Next()
	t := &ticket{App: a.Token, Template: template, Sections: chosenSections(chosen, a.Platform), Status: ticketNew,
		At: c.now, Result: map[string]any{},
		Token: fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", hi>>32, hi>>16&0xffff, hi&0xfff, 0x8000|lo>>48&0x3fff,
			lo&0xffffffffffff)}
	return t.Token, t.save(c.tx)
}

// newestTicket returns the token of the app's newest ticket, or "" when the app has none.
func (c *call) newestTicket(app string) (token string, err error) {
	err = c.tx.QueryRow("SELECT token FROM tickets WHERE app=? ORDER BY position DESC LIMIT 1", app).Scan(&token)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read tickets: %w", err)
	}
	return token, nil
}

// save writes the job to the database.
func (t *ticket) save(tx *sql.Tx) error {
	text, err := json.Marshal(t)
	if err == nil {
		_, err = tx.Exec(`INSERT INTO tickets (token, app, open, record) VALUES (?,?,?,?)
			ON CONFLICT (token) DO UPDATE SET open=excluded.open, record=excluded.record`, t.Token, t.App, !t.over(), string(text))
	}
	if err != nil {
		return fmt.Errorf("keep ticket: %w", err)
	}
	return nil
}

// readTickets reads the jobs that meet a condition, oldest first.
func readTickets(tx *sql.Tx, where string, args ...any) (out []*ticket, err error) {
	rows, err := tx.Query("SELECT record FROM tickets WHERE "+where+" ORDER BY position", args...)
	if err != nil {
		return nil, fmt.Errorf("read tickets: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		t := &ticket{}
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, fmt.Errorf("read tickets: %w", err)
		}
		if err := decodeKept(text, t); err != nil {
			return nil, fmt.Errorf("read tickets: %w", err)
		}
		out = append(out, t)
	}
	return out, rows.Err()
}

// getStatus answers GET /status/{ticket_token}.
func (c *call) getStatus() (any, error) {
	tickets, err := readTickets(c.tx, "token=?", c.path[0])
	if err != nil {
		return nil, err
	}
	if len(tickets) == 0 {
		return nil, wire.BadRequest("Ticket not found")
	}
	return map[string]any{"status": tickets[0].Status, "kind": "migration", "result": tickets[0].Result}, nil
}

// stepDueTickets takes the steps of jobs that are due by the data's clock.
func (s *Service) stepDueTickets() error {
	step := s.opts.TicketStep
	if step < 0 {
		return nil
	}
	now := s.opts.Now()
	_, err := s.stepTickets("open", func(t *ticket) bool {
		if now.Sub(t.At) < step {
			return false
		}
		t.At = t.At.Add(step)
		return true
	})
	return err
}

// AdvanceTickets makes jobs take so many steps, whatever the clock says: all open jobs, or only
// that of the ticket token. It returns how many jobs are open afterwards: of all apps, or of the
// ticket's app.
func (s *Service) AdvanceTickets(steps int, token string) (open int, err error) {
	taken := map[string]int{}
	where, args := "open", []any{}
	if token != "" {
		where, args = "open AND app=(SELECT app FROM tickets WHERE token=?)", []any{token}
	}
	now := s.opts.Now()
	return s.stepTickets(where, func(t *ticket) bool {
		if taken[t.Token] >= steps || token != "" && t.Token != token {
			return false
		}
		taken[t.Token]++
		t.At = now
		return true
	}, args...)
}

// stepTickets lets the jobs that meet a condition take steps as long as due is true. An app's job
// waits until its earlier ones are over. It returns how many of the jobs are open afterwards.
func (s *Service) stepTickets(where string, due func(*ticket) bool, args ...any) (open int, err error) {
	err = s.world.Change(context.Background(), func(e *facts.Edit) error {
		tx := e.Tx
		tickets, err := readTickets(tx, where, args...)
		if err != nil {
			return err
		}
		run := &jobRun{call: call{service: s, tx: tx, account: e}, apps: map[string]*accountApp{},
			changed: map[string]bool{}}
		ended := map[string]time.Time{} // when the app's earlier job took its last step
		waits := map[string]bool{}      // apps with an earlier job that isn't over
		for _, t := range tickets {
			if waits[t.App] {
				open++
				continue
			}
			moved := false
			if before := ended[t.App]; t.At.Before(before) {
				t.At, moved = before, true
			}
			for !t.over() && due(t) {
				moved = true
				if err := run.step(t); err != nil {
					return fmt.Errorf("job %s: %w", t.Token, err)
				}
			}
			ended[t.App], waits[t.App] = t.At, !t.over()
			if !t.over() {
				open++
			}
			if moved {
				if err := t.save(tx); err != nil {
					return err
				}
			}
		}
		return run.save()
	})
	return open, err
}

// jobRun holds the apps that jobs work on in one transaction: each is read once and saved once.
type jobRun struct {
	call    call
	apps    map[string]*accountApp // by token
	changed map[string]bool        // tokens of the apps to be saved
}

// app reads an app once for all of the jobs.
func (r *jobRun) app(token string) (*accountApp, error) {
	if a := r.apps[token]; a != nil {
		return a, nil
	}
	a, err := r.call.app(token)
	r.apps[token] = a
	return a, err
}

// save writes the apps that jobs have changed to the database.
func (r *jobRun) save() error {
	for _, token := range slices.Sorted(maps.Keys(r.changed)) {
		if err := r.call.save(r.apps[token]); err != nil {
			return err
		}
	}
	return nil
}

// step takes one step of a job: it opens the job, or copies its next section.
func (r *jobRun) step(t *ticket) error {
	if t.Status == ticketNew {
		t.Status = ticketOpened
		return nil
	}
	if t.Done < len(t.Sections) {
		if err := r.migrate(t, t.Sections[t.Done]); err != nil {
			return err
		}
		t.Done++
	}
	if t.Done == len(t.Sections) {
		t.Status = ticketCompleted
		if len(t.Failed) > 0 {
			t.Status = ticketFailed
		}
	}
	return nil
}
