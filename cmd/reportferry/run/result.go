package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/civil"
	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/internal/wording"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// ResultForm is the version of the result's JSON form. It changes when a reader of an earlier
// version would misread the new one.
const ResultForm = 1

// A Result is what became of a run, or why there was none.
type Result struct {
	Form       int         `json:"form" jsonschema_description:"version of this form"`
	Run        string      `json:"run" jsonschema_description:"ID of the run; empty when none was begun"`
	Trigger    string      `json:"trigger" jsonschema_description:"manual, backfill, replay or schedule; empty when no run was begun"`
	Exit       int         `json:"exit" jsonschema_description:"exit code"`
	Outcome    string      `json:"outcome" jsonschema_description:"what the exit code means, in words"`
	Retry      bool        `json:"retry" jsonschema_description:"whether another try may do more; false: all is done, or only a person or another day can end what is left"`
	Reason     string      `json:"reason,omitempty" jsonschema_description:"word for why no run was begun"`
	Error      string      `json:"error,omitempty" jsonschema_description:"why no run was begun, in words"`
	Began      time.Time   `json:"began"`
	Ended      time.Time   `json:"ended"`
	Seconds    float64     `json:"seconds" jsonschema_description:"from the beginning to the end"`
	Jobs       []jobResult `json:"jobs"`
	Unrecorded string      `json:"unrecorded,omitempty" jsonschema_description:"why the ledger has no record of the run"`
}

// A jobResult is what became of a job of the run.
type jobResult struct {
	Job        string            `json:"job"`
	Kind       string            `json:"kind"`
	Table      string            `json:"table"`
	Period     string            `json:"period,omitempty" jsonschema_description:"length of a partition: day, week, month, quarter, year or whole; none of kinds without partitions"`
	Seconds    float64           `json:"seconds"`
	Units      int               `json:"units" jsonschema_description:"windows, or files, that were worked on"`
	Held       int               `json:"held" jsonschema_description:"units that another run holds"`
	Left       int               `json:"left" jsonschema_description:"units that are left to the next run"`
	Stopped    bool              `json:"stopped" jsonschema_description:"the run ended before the job did"`
	Written    int               `json:"written" jsonschema_description:"partitions, or files, that were put"`
	Unchanged  int               `json:"unchanged"`
	Empty      int               `json:"empty"`
	Kept       int               `json:"kept"`
	Failed     int               `json:"failed"`
	HeldBack   int               `json:"held_back" jsonschema_description:"partitions of which the answer isn't published, because it takes good rows away"`
	Standing   int               `json:"standing" jsonschema_description:"partitions that are held back, or differ from the totals, as an earlier run has told"`
	Rows       int64             `json:"rows"`
	NotTaken   int64             `json:"not_taken" jsonschema_description:"rows of files that were refused, rejected by the service or in conflict with what was pushed before"`
	Skipped    int64             `json:"skipped" jsonschema_description:"rows of files that are no records: totals, notes, empty ones"`
	Requests   int64             `json:"requests"`
	Retries    int64             `json:"retries"`
	Failures   []jobFailure      `json:"failures"`
	Partitions []partitionResult `json:"partitions" jsonschema_description:"those that were due, and those that this run has recorded, ascending"`
	Problems   []ledger.Problem  `json:"problems" jsonschema_description:"what is wrong with the table after the run, and what is to be known of it, with the newest days"`
	Newest     string            `json:"newest_complete,omitempty" jsonschema_description:"newest partition of the table that was fetched after its end"`
}

// A jobFailure is one thing that went wrong.
type jobFailure struct {
	Unit   string `json:"unit" jsonschema_description:"which failed; empty: the job could not be planned, or ended badly"`
	Reason string `json:"reason" jsonschema_description:"word for why"`
	Error  string `json:"error" jsonschema_description:"why, in words"`
}

// The states of a partition after a run, beside those of package ledger.
const (
	stateFailed   = "failed"    // the partition couldn't be replaced; its rows, if any, are the old ones
	stateLeft     = "left"      // it was due, and nothing was done about it
	StateHeldBack = "held_back" // the old rows stay, because the answer takes good rows away
	stateOthers   = "others"    // another run has done the partition meanwhile
	stateThere    = "there"     // in the range asked for: it was recorded before this run, and nothing of it was due
)

// A partitionResult is what became of one partition.
type partitionResult struct {
	Partition   string              `json:"partition" jsonschema_description:"first day of the period"`
	State       string              `json:"state" jsonschema:"enum=written,enum=unchanged,enum=empty,enum=cleared,enum=kept,enum=failed,enum=held_back,enum=left,enum=others,enum=there" jsonschema_description:"written: with content that was not there before; unchanged: the content is what it was, put again or not; empty: no rows, and never had any; cleared: no rows any more; kept: older rows, because the answer had none; failed; held_back: older rows, because the answer takes good rows away; left: due, and nothing was done; others: another run has done it; there: of the range of a backfill, recorded before and not due"`
	Due         string              `json:"due,omitempty" jsonschema_description:"why it was due"`
	Rows        int64               `json:"rows"`
	Sums        map[string]string   `json:"sums,omitempty" jsonschema_description:"of metrics that add up, exact decimals"`
	Hash        string              `json:"hash,omitempty" jsonschema_description:"of the content: equal content has equal hashes"`
	Fetched     *time.Time          `json:"fetched,omitempty" jsonschema_description:"when the service was asked"`
	Since       *time.Time          `json:"since,omitempty" jsonschema_description:"when this content was fetched first"`
	Finality    string              `json:"finality,omitempty" jsonschema_description:"partial, restating or final"`
	Moved       bool                `json:"changed_after_final,omitempty"`
	Reconciled  string              `json:"reconciled,omitempty" jsonschema_description:"reconciled, unreconciled or unchecked"`
	Differences []ledger.Difference `json:"differences,omitempty" jsonschema_description:"of rows and the service's totals"`
	Sinks       []sinkPlace         `json:"sinks,omitempty"`
}

// A sinkPlace is where a sink has put a partition.
type sinkPlace struct {
	Sink string `json:"sink"`
	Key  string `json:"key,omitempty"`
	Size int64  `json:"size" jsonschema_description:"bytes"`
}

// resultOf returns what became of a run. It reads the tables of the run's jobs from the ledger
// again.
func resultOf(ctx context.Context, s *wire.RunInfo) (Result, error) {
	r := s.Record
	run := Result{Form: ResultForm, Run: r.ID, Trigger: r.Trigger, Exit: r.Exit, Outcome: wording.Meaning(r.Exit),
		Began: r.Started, Ended: r.Started, Jobs: []jobResult{}, Unrecorded: s.Unrecorded}
	if r.Ended != nil {
		run.Ended = *r.Ended
	}
	run.Seconds = run.Ended.Sub(run.Began).Seconds()
	run.Retry = slices.ContainsFunc([]int{jobs.ExitFailed, jobs.ExitHeld, jobs.ExitInterrupted},
		func(code int) bool { return code == r.Exit }) ||
		r.Exit == jobs.ExitSome && slices.ContainsFunc(r.Results, func(res ledger.Result) bool {
			o := res.Outcome
			return len(res.Errs)+o.Failed+o.Unreconciled+o.Unseen+o.Unkept+res.Left > 0
		})
	var errs []error
	for i, res := range r.Results {
		job := jobResultOf(res)
		c := s.Config.Job(res.Job)
		if job.Kind = c.Kind; c.Report != nil {
			job.Period = c.Report.Period
		}
		if s.Plans[i].Table != nil {
			table, err := s.Ledger.Table(ctx, s.List[i].Table)
			if err != nil {
				errs = append(errs, fmt.Errorf("job %s: %w", res.Job, err))
				continue
			}
			job.Partitions = partitionResults(table.Records(), s.Plans[i].Units, res, r.ID)
			if s.Asked.From.IsValid() {
				job.Partitions = withRange(job.Partitions, table.Records(), s.Asked)
			}
		}
		run.Jobs = append(run.Jobs, job)
	}
	return run, errors.Join(errs...)
}

// noResult returns the result of a command that began no run, with the error that prevented it.
func noResult(began time.Time, err error) Result {
	run := Result{Form: ResultForm, Began: began.UTC(), Ended: time.Now().UTC(), Jobs: []jobResult{}}
	run.Seconds = run.Ended.Sub(run.Began).Seconds()
	run.Exit = text.ExitCode(err)
	if silent := (*text.ExitError)(nil); err != nil && (!errors.As(err, &silent) || silent.Err != nil) {
		run.Error, run.Reason = err.Error(), text.FailureReason(err)
	}
	run.Outcome = wording.Meaning(run.Exit)
	return run
}

// jobResultOf returns what became of a job, without its kind, period and partitions.
func jobResultOf(res ledger.Result) jobResult {
	o := res.Outcome
	job := jobResult{
		Job: res.Job, Table: res.Table, Seconds: res.Took.Seconds(), Units: o.Windows, Held: o.Held, Left: res.Left,
		Stopped: res.Stopped,
		Written: o.Written, Unchanged: o.Unchanged, Empty: o.Empty, Kept: o.Kept, Failed: o.Failed,
		HeldBack: o.HeldBack + o.StillHeld, Standing: o.StillHeld + o.StillDiffers, Rows: o.Rows,
		NotTaken: o.NotTaken(), Skipped: o.Skipped, Requests: o.Requests, Retries: o.Retries,
		Failures: []jobFailure{}, Partitions: []partitionResult{}, Problems: append([]ledger.Problem{},
			res.Problems...),
	}
	for i, err := range res.Errs {
		f := jobFailure{Reason: text.FailureReason(err), Error: err.Error()}
		if i < len(res.Failures) {
			f.Unit = res.Failures[i].Unit
		}
		job.Failures = append(job.Failures, f)
	}
	if res.Newest != nil {
		job.Newest = res.Newest.String()
	}
	return job
}

// partitionResults returns what became of each partition that the run has recorded or that was due
// when it began, ascending.
func partitionResults(records ledger.Records, units []jobs.Unit, res ledger.Result, run string) []partitionResult {
	byDay := map[civil.Date]partitionResult{}
	for _, e := range records {
		if e.Run == run {
			byDay[e.Partition] = recordedPartition(e)
		}
	}
	for _, u := range units {
		failed := slices.ContainsFunc(res.Failures, func(f ledger.Failure) bool { return f.Unit == u.Name })
		for _, due := range u.Due {
			p, done := byDay[due.Partition]
			if !done {
				p = partitionResult{Partition: due.Partition.String(), State: stateLeft}
				e, has := records[due.Partition]
				switch {
				case e.HeldBack != nil && e.HeldBack.Run == run:
					p = recordedPartition(e)
					p.State = StateHeldBack
				case failed:
					p.State = stateFailed
				case has && e.Seq > due.Seq && e.State != ledger.Publishing:
					p = recordedPartition(e)
					p.State = stateOthers
				}
			}
			p.Due = string(due.Reason)
			byDay[due.Partition] = p
		}
	}
	list := make([]partitionResult, 0, len(byDay))
	for _, p := range byDay {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b partitionResult) int { return cmp.Compare(a.Partition, b.Partition) })
	return list
}

// withRange adds the partitions of the asked range that were recorded before and weren't due.
func withRange(list []partitionResult, records ledger.Records, asked wire.Ask) []partitionResult {
	known := map[string]bool{}
	for _, p := range list {
		known[p.Partition] = true
	}
	for _, e := range records {
		if known[e.Partition.String()] || e.Partition.Before(asked.From) || e.Partition.After(asked.Through) ||
			e.State == ledger.Publishing {
			continue
		}
		p := recordedPartition(e)
		p.State, p.Due = stateThere, ""
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b partitionResult) int { return cmp.Compare(a.Partition, b.Partition) })
	return list
}

// recordedPartition returns what a ledger record says of its partition.
func recordedPartition(e ledger.Record) partitionResult {
	p := partitionResult{
		Partition: e.Partition.String(), State: string(e.State), Due: e.Reason, Rows: e.Rows, Sums: e.Sums,
		Hash: e.Hash, Fetched: &e.Fetched,
		Finality: e.Finality, Moved: e.Moved,
	}
	if !e.Since.IsZero() {
		p.Since = &e.Since
	}
	switch {
	case e.State == ledger.Publishing:
		p.State = stateFailed // which rows are visible isn't known, and the next run fetches it again
	case e.State == ledger.Written && !e.Since.IsZero() && e.Since.Before(e.Fetched):
		p.State = string(ledger.Unchanged)
	}
	if c := e.Control; c != nil {
		p.Reconciled, p.Differences = string(c.State), c.Differences
	}
	for _, r := range e.Receipts {
		p.Sinks = append(p.Sinks, sinkPlace{Sink: r.Sink, Key: r.Key, Size: r.Size})
	}
	return p
}

// ResultSchema returns the JSON Schema of a result.
func ResultSchema() ([]byte, error) {
	r := jsonschema.Reflector{Anonymous: true, DoNotReference: true}
	schema := r.Reflect(&Result{})
	schema.Title = "What became of a run of reportferry"
	text, err := json.MarshalIndent(schema, "", "  ")
	return append(text, '\n'), err
}
