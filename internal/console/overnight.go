package console

import (
	"context"
	"slices"
	"time"

	"cloud.google.com/go/civil"
	"golang.org/x/sync/errgroup"

	"github.com/reportferry/reportferry/internal/wording"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// An overnightJob is what has moved of one job's table since yesterday.
type overnightJob struct {
	Name        string
	Error       error
	Rebaselined []string  // a line for each change of what numbers mean
	Moves       int       // numbers
	Finals      []move    // those of final partitions
	Biggest     []move    // the biggest first
	Days        []heatDay // columns of the map, the newest first
	Map         []heatRow
	Left        int // partitions that aren't in the map
}

// A move is a number that moved.
type move struct {
	refresh.Move
	Partition string
	Page      bool   // the partition has a page in an export
	Percent   string // of a usual day
	Linked    string // the run that brought it, if it has a page
}

// A heatDay is a partition of the map.
type heatDay struct {
	Name string
	Page bool
}

// A heatRow is a metric, with the move of each day. A cell without a text hasn't moved.
type heatRow struct {
	Metric string
	Cells  []heatCell
}

// A heatCell is shaded by its size, in steps from 1 to 5.
type heatCell struct {
	Percent string
	Step    int
	Up      bool // the number has grown
	Final   bool // the partition had been final
}

// mostHeat is how many partitions a map shows, as many as a screen is wide. mostMoves is how many
// moves are listed.
const (
	mostHeat  = 16
	mostMoves = 20
)

// overnight shows what moved since yesterday.
func (c *Console) overnight(ctx context.Context, _ vars) (view, error) {
	s := c.cache.get(ctx, func(j Job) bool { return j.Inspect != nil })
	var body struct {
		Since time.Time
		Jobs  []overnightJob
		Still []string // jobs in which nothing moved
	}
	body.Since = s.now.Add(-comparedAge)
	all := make([]overnightJob, len(s.jobs))
	g := &errgroup.Group{}
	g.SetLimit(mostReads)
	for i, j := range s.jobs {
		g.Go(func() error {
			all[i] = c.overnightOf(ctx, s, j)
			return nil
		})
	}
	_ = g.Wait() // errors are in what was found
	for _, o := range all {
		if o.Error == nil && o.Moves == 0 && o.Rebaselined == nil {
			body.Still = append(body.Still, o.Name)
			continue
		}
		body.Jobs = append(body.Jobs, o)
	}
	return view{"Overnight", "overnight.html", body}, nil
}

// overnightOf returns what has moved in one job's table.
func (c *Console) overnightOf(ctx context.Context, s snapshot, j JobStatus) overnightJob {
	o := overnightJob{Name: j.Name, Error: j.Err}
	if j.Err == nil {
		var changed tableHistory
		if changed, o.Error = c.changed(ctx, s, j.Job); o.Error == nil {
			o.fill(s, j, changed)
		}
	}
	return o
}

// fill lays out what moved of a table.
func (o *overnightJob) fill(s snapshot, j JobStatus, changed tableHistory) {
	o.Rebaselined = wording.Rebaselined(changed.rebaselined)
	done := ledger.Records{}
	for _, e := range j.State.Calendar {
		if e.Record.Seq > 0 {
			done[e.Partition] = e.Record
		}
	}
	// The moves of the last day, the biggest first.
	paged := j.State.withPage()
	moves := slices.DeleteFunc(refresh.Moves(changed.records, done),
		func(m refresh.Move) bool { return m.Now.Before(s.now.Add(-comparedAge)) })
	o.Moves = len(moves)
	var days []civil.Date
	for _, m := range moves {
		one := move{m, day(m.Partition), paged[m.Partition], wording.Percent(m.Size), s.linked(m.Run)}
		if m.Finality == refresh.Final {
			o.Finals = append(o.Finals, one)
		}
		if len(o.Biggest) < mostMoves {
			o.Biggest = append(o.Biggest, one)
		}
		if !slices.Contains(days, m.Partition) {
			days = append(days, m.Partition)
		}
	}
	// The map has the newest of the partitions that moved.
	slices.SortFunc(days, func(a, b civil.Date) int { return b.Compare(a) })
	o.Left = max(0, len(days)-mostHeat)
	days = days[:len(days)-o.Left]
	for _, d := range days {
		o.Days = append(o.Days, heatDay{day(d), paged[d]})
	}
	o.Map = heat(moves, days)
}

// heat returns a row for each metric that moved, the one with the biggest move first.
func heat(moves []refresh.Move, days []civil.Date) (rows []heatRow) {
	at := map[string]int{}
	for _, m := range moves {
		column := slices.Index(days, m.Partition)
		if column < 0 {
			continue
		}
		row, known := at[m.Metric]
		if !known {
			row = len(rows)
			at[m.Metric] = row
			rows = append(rows, heatRow{m.Metric, make([]heatCell, len(days))})
		}
		cell := &rows[row].Cells[column]
		if cell.Percent == "" { // moves come biggest first, and a cell shows the biggest
			*cell = heatCell{wording.Percent(m.Size), step(m.Size), m.Size > 0, m.Finality == refresh.Final}
		}
	}
	return rows
}

// step returns how dark a move is drawn, from 1 to 5.
func step(size float64) int {
	size = max(size, -size)
	for i, least := range []float64{0.5, 0.2, 0.05, 0.01} {
		if size >= least {
			return 5 - i
		}
	}
	return 1
}
