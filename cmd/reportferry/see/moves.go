package see

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/big"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/internal/wording"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// A tableMove is a number of a job's table that moved, or an event in its history.
type tableMove struct {
	Job   string `json:"job"`
	Table string `json:"table"`
	refresh.Move
}

// movesByJob has what moved in the tables of several jobs.
type movesByJob struct {
	since time.Time
	jobs  []string                // names, in the order of the config
	moves map[string][]tableMove  // by job, the biggest first
	slugs map[string][]slugChange // by job, of jobs of kind events
}

// findMoves returns what moved in the tables that can be read, and the errors of the others.
func findMoves(ctx context.Context, s *wire.Session, chosen []config.Job, since time.Time) (movesByJob, error) {
	m := movesByJob{since: since, moves: map[string][]tableMove{}, slugs: map[string][]slugChange{}}
	var failed []error
	for _, job := range chosen {
		if job.Sinks == nil {
			continue
		}
		list, err := movesOf(ctx, s, job, since)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if job.Events != nil {
			if m.slugs[job.Name], err = slugsOf(ctx, s, job, since); err != nil {
				failed = append(failed, err)
				continue
			}
		}
		m.jobs = append(m.jobs, job.Name)
		m.moves[job.Name] = list
	}
	return m, errors.Join(failed...)
}

// movesOf returns what moved in one job's table since a time: its events, then the numbers, then
// the partitions that were rebaselined.
func movesOf(ctx context.Context, s *wire.Session, job config.Job, since time.Time) (list []tableMove, err error) {
	table, err := s.Ledger.Table(ctx, job.Table)
	if err != nil {
		return nil, err
	}
	history, err := table.Changed(ctx, since)
	if err != nil {
		return nil, err
	}
	add := func(m refresh.Move) {
		if !m.Now.Before(since) {
			list = append(list, tableMove{Job: job.Name, Table: job.Table, Move: m})
		}
	}
	for _, e := range history {
		for _, one := range e.Events {
			add(refresh.Move{Change: refresh.Change{Partition: e.Partition, Seq: e.Seq, Before: e.Brought(),
				Now: one.At, Run: one.Run, Metric: one.What, Reason: one.Why}})
		}
	}
	for _, m := range refresh.Moves(history, table.Records()) {
		add(m)
	}
	rebaselined, err := refresh.Rebaselined(history, func(e ledger.Record) (ledger.Shape,
		error) {
		return table.ShapeOf(ctx, e)
	})
	for _, c := range rebaselined {
		add(refresh.Move{Change: c})
	}
	return list, err
}

// writeTable writes the biggest moves of each job, at most limit of them; a limit of 0 means all.
func (m movesByJob) writeTable(w io.Writer, limit int) error {
	for _, job := range m.jobs {
		list, happened, rebaselined := splitMoves(m.moves[job])
		writeEvents(w, job, happened, m.since, limit)
		for _, text := range wording.Rebaselined(rebaselined) {
			fmt.Fprintf(w, "%s: %s\n", job, text)
		}
		if changes, isEvents := m.slugs[job]; isEvents {
			writeSlugs(w, job, changes, m.since, limit)
			continue // when a snapshot is taken twice on its day, these changes are what moved
		}
		if len(list) == 0 {
			if len(rebaselined)+len(happened.Rows) == 0 {
				fmt.Fprintf(w, "%s: nothing moved since %s UTC\n", job, toTheMinute(m.since))
			}
			continue
		}
		// How much has moved.
		periods, finals := map[string]bool{}, map[string]bool{}
		for _, one := range list {
			periods[one.Partition.String()] = true
			if one.Finality == refresh.Final {
				finals[one.Partition.String()] = true
			}
		}
		fmt.Fprintf(w, "%s: %s of %s moved since %s UTC\n", job, text.Plural(len(list), "number"),
			text.Plural(len(periods), "period"), toTheMinute(m.since))
		if n := len(finals); n > 0 {
			fmt.Fprintf(w, "  %s moved though final\n", text.Plural(n, "period"))
		}
		// The biggest moves, and how many there are besides.
		shown := list
		if limit > 0 {
			shown = list[:min(limit, len(list))]
		}
		g := text.Grid{
			Heads: []string{"  period", "metric", "was", "is", "size", "day was", "fetched for"},
			Right: []bool{false, false, true, true, true}, Most: []int{0, 16},
		}
		for _, one := range shown {
			g.Rows = append(g.Rows, []string{
				"  " + text.DayRange(one.Partition, one.Partition), one.Metric, shortNumber(one.Was),
				shortNumber(one.Is),
				wording.Percent(one.Size), one.Finality, one.Reason,
			})
		}
		g.Write(w)
		if n := len(list) - len(shown); n > 0 {
			fmt.Fprintf(w, "  and %s; --limit 0 shows all\n", text.Plural(n, "smaller one"))
		}
	}
	return nil
}

// splitMoves splits a list into the numbers that moved, the events (answers held back or accepted,
// and lasting differences), and the periods whose numbers mean something else by now.
func splitMoves(list []tableMove) (moved []tableMove, happened text.Grid, rebaselined []refresh.Change) {
	happened = text.Grid{Heads: []string{"  period", "what", "when, UTC", "why"}, Width: 80}
	for _, one := range list {
		switch one.Metric {
		case refresh.Rebaseline:
			rebaselined = append(rebaselined, one.Change)
		case ledger.EventHeld, ledger.EventAccepted, ledger.EventDiffersAlike:
			happened.Rows = append(happened.Rows, []string{"  " + text.DayRange(one.Partition, one.Partition),
				one.Metric, toTheMinute(one.Now), one.Reason})
		default:
			moved = append(moved, one)
		}
	}
	return moved, happened, rebaselined
}

// writeEvents writes the events of a job's table, at most limit of them; a limit of 0 means all.
func writeEvents(w io.Writer, job string, g text.Grid, since time.Time, limit int) {
	all := len(g.Rows)
	if all == 0 {
		return
	}
	fmt.Fprintf(w, "%s: %s since %s UTC\n", job, text.Plural(all, "event"), toTheMinute(since))
	if limit > 0 {
		g.Rows = g.Rows[:min(limit, all)]
	}
	left := all - len(g.Rows)
	g.Write(w)
	if left > 0 {
		fmt.Fprintf(w, "  and %d more; --limit 0 shows all\n", left)
	}
}

// shortNumber rounds a number to two decimals, for people. A number between -1 and 1 keeps all of
// its decimals.
func shortNumber(text string) string {
	n, ok := new(big.Rat).SetString(text)
	if !ok {
		return text
	}
	if digits, _ := n.FloatPrec(); digits <= 2 || n.Cmp(big.NewRat(1, 1)) < 0 && n.Cmp(big.NewRat(-1, 1)) > 0 {
		return text
	}
	return n.FloatString(2)
}

// writeJSON writes an object for each move, and for each change of a slug.
func (m movesByJob) writeJSON(w io.Writer) error {
	for _, job := range m.jobs {
		if err := errors.Join(text.JSONLines(w, m.moves[job]), text.JSONLines(w, m.slugs[job])); err != nil {
			return err
		}
	}
	return nil
}

// writeCSV writes a line for each move, and for each change of a slug.
func (m movesByJob) writeCSV(w io.Writer) error {
	lines := [][]string{{"job", "partition", "seq", "before", "now", "run", "metric", "was", "is", "delta", "size",
		"finality", "reason"}}
	for _, job := range m.jobs {
		for _, one := range m.moves[job] {
			lines = append(lines, []string{
				job, one.Partition.String(), fmt.Sprint(one.Seq), one.Before.UTC().Format(time.RFC3339),
				one.Now.UTC().Format(time.RFC3339), one.Run,
				one.Metric, one.Was, one.Is, one.Delta, fmt.Sprint(one.Size), one.Finality, one.Reason,
			})
		}
		for _, changed := range m.slugs[job] {
			lines = append(lines, changed.line())
		}
	}
	return csv.NewWriter(terminal.Data(w)).WriteAll(lines)
}
