package console

import (
	"cmp"
	"context"
	"slices"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/wording"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// A tableBody is one job's table.
type tableBody struct {
	overviewJob
	Table       string
	Sinks       []string
	Through     *civil.Date    // from the oldest partition to this one all are final
	Days        *time.Location // in which its days begin and end
	Legend      []legendRow
	Wrong       []problem
	Known       []problem // those that are harmless
	Calendar    calendar
	Unread      error    // the history couldn't be read
	Rebaselined []string // a line for each change of what numbers mean
	Pictures    []picture
	Numbers     []numbersRow // the newest first
	Runs        []runFreshness
	Oldest      time.Duration // the longest age of Runs
}

// A numbersRow is the numbers of one partition, in the order of the pictures.
type numbersRow struct {
	Partition string
	State     state
	Page      bool
	Numbers   []number
}

// A runFreshness is how new the table was when a run was over.
type runFreshness struct {
	runLine
	Did    string
	Newest *civil.Date   // nil: it isn't recorded
	Age    time.Duration // the time from the end of the newest partition to the end of the run
	Long   float64       // Age in percent of the longest
}

// mostExported is how many partitions a number's page has in an export; the page is written anew
// whenever one of them changes.
const mostExported = 400

// mostCells is how many numbers the table of a page holds at most, unless it has only leastDays
// partitions. mostRuns is how many runs a page lists.
const (
	mostCells = 700
	leastDays = 14
	mostRuns  = 30
)

// table shows one job's table.
func (c *Console) table(ctx context.Context, s snapshot, j JobStatus) view {
	b := tableBody{overviewJob: overviewOf(s, j), Table: j.Table, Sinks: j.Sinks, Through: j.State.Counts.Through,
		Days: j.days()}
	all := j.State.Calendar
	b.Calendar, b.Legend = j.State.calendar(), legendOf(j.State)
	problems := problemsOf(s, j)
	b.Wrong, b.Known = problems[:countWrong(problems)], problems[countWrong(problems):]
	b.Runs, b.Oldest = freshness(s, j)
	changed, err := c.changed(ctx, s, j.Job)
	b.Unread, b.Rebaselined = err, wording.Rebaselined(changed.rebaselined)
	had := earlierOf(changed, s.now.Add(-comparedAge))
	names := namesOf(all)
	recent := all[max(0, len(all)-min(newestPages, max(leastDays, mostCells/len(names)))):]
	for _, name := range names {
		b.Pictures = append(b.Pictures, pictureOf(recent, had, name))
	}
	paged := j.State.withPage()
	for _, e := range slices.Backward(recent) {
		row := numbersRow{Partition: day(e.Partition), State: j.State.state(e.Condition), Page: paged[e.Partition]}
		for _, name := range names {
			row.Numbers = append(row.Numbers, had.numberOf(e, name))
		}
		b.Numbers = append(b.Numbers, row)
	}
	return view{j.Name, "table.html", b}
}

// freshness returns the last runs of a job, the newest first, with the age that the newest complete
// partition had when each run ended. It also returns the longest age.
func freshness(s snapshot, j JobStatus) (list []runFreshness, oldest time.Duration) {
	for _, r := range s.past.Runs {
		at := slices.IndexFunc(r.Results, func(res ledger.Result) bool { return res.Job == j.Name })
		if at < 0 || r.Ended == nil || len(list) == mostRuns {
			continue
		}
		f := runFreshness{runLine: lineOf(r), Did: outcome(r.Results[at]), Newest: r.Results[at].Newest}
		if f.Newest != nil {
			f.Age = max(0, r.Ended.Sub(endOf(j, *f.Newest)))
			oldest = max(oldest, f.Age)
		}
		list = append(list, f)
	}
	for i := range list {
		list[i].Long = 100 * list[i].Age.Seconds() / max(oldest.Seconds(), 1)
	}
	return list, oldest
}

// endOf returns when the period of a job's partition is over. For a table without periods it is the
// end of the partition's day.
func endOf(j JobStatus, partition civil.Date) time.Time {
	next := partition.AddDays(1)
	if j.State.Period != refresh.Whole && partition != refresh.WholeTable {
		next = j.State.Period.Next(partition)
	}
	return next.In(j.days())
}

// days returns the zone in which a job's days begin and end.
func (j Job) days() *time.Location { return cmp.Or(j.Days, j.Zone, time.UTC) }

// series shows one number of all partitions of a job.
func (c *Console) series(ctx context.Context, names vars) (view, error) {
	s, j, known := c.cache.job(ctx, names["job"])
	switch {
	case !known || j.Inspect == nil:
		return view{}, errNoPage
	case j.Err != nil:
		return view{j.Name, "unreadable.html", unreadable(j.Name, j.Err, "status "+j.Name)}, nil
	case !slices.Contains(namesOf(j.State.Calendar), names["number"]):
		return view{}, errNoPage
	}
	changed, err := c.changed(ctx, s, j.Job)
	had := earlierOf(changed, s.now.Add(-comparedAge))
	body := struct {
		Job, Number string
		Unread      error
		Rebaselined []string
		Picture     picture
		Rows        []numbersRow // the newest first
		Newest      []numbersRow // those of Rows that an export has
		Recent      picture      // a picture of the partitions in Newest
		Left        int          // how many more Rows has
	}{Job: j.Name, Number: names["number"], Unread: err, Rebaselined: wording.Rebaselined(changed.rebaselined),
		Picture: pictureOf(j.State.Calendar, had, names["number"])}
	for _, e := range slices.Backward(j.State.Calendar) {
		body.Rows = append(body.Rows, numbersRow{day(e.Partition), j.State.state(e.Condition), false,
			[]number{had.numberOf(e, body.Number)}})
	}
	body.Left = max(0, len(body.Rows)-mostExported)
	body.Newest = body.Rows[:len(body.Rows)-body.Left]
	body.Recent = pictureOf(j.State.Calendar[body.Left:], had, body.Number)
	return view{j.Name + ": " + body.Number, "series.html", body}, nil
}

// eachSeries names the numbers of all tables.
func (c *Console) eachSeries(ctx context.Context) (all []vars) {
	for _, j := range c.cache.get(ctx, func(j Job) bool { return j.Inspect != nil && hasPage(j) }).jobs {
		if j.Err == nil {
			for _, name := range namesOf(j.State.Calendar) {
				if pathSafe(name) {
					all = append(all, vars{"job": j.Name, "number": name})
				}
			}
		}
	}
	return all
}
