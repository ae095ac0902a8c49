package status

import (
	"strings"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// Conditions of tables, beside those of partitions.
const (
	Lacking refresh.Condition = "lacking columns" // partitions lack columns that the job wants
	Kept    refresh.Condition = "kept"            // on_empty keeps rows although the last answer was empty
	Near    refresh.Condition = "near"            // cohorts differ from totals by no more than reconcile allows
)

// Conditions that are counted together.
var (
	HeldBack  = []refresh.Condition{refresh.HeldBack}
	Differing = []refresh.Condition{refresh.Differs, refresh.DiffersAlike}
	Moved     = []refresh.Condition{refresh.ChangedFinal, refresh.MovedAndLeft}
)

// rules has what is said about each condition, the worst first. In commands {job}, {closing},
// {days} and {range} stand for the job, the command that closes its gaps, and the options for the
// days from the first to the last partition.
var rules = []struct {
	condition             refresh.Condition
	what, advice, command string
	wrong                 bool // else it is only to be known
}{
	{refresh.Broken, "that couldn't be fetched", "to try again", "{closing}", true},
	{refresh.CutOff, "whose put was interrupted, so that it isn't known which rows readers see",
		"the next run fetches them again; to do it now", "{closing}", true},
	{refresh.Absent, "missing", "to fetch what is missing", "{closing}", true},
	{refresh.TooOld, "missing, which are older than what the table keeps",
		"let it keep them for longer by expire_days, or begin later by start", "", true},
	{refresh.Mixed, "whose numbers mean something else than the newest ones: another currency, zone, filter or type",
		"the next run replaces them; to do it now", "run {job} --rebaseline --now", true},
	{refresh.Deleted, "deleted in the sink", "runs fetch them again; to do it now", backfill, true},
	{refresh.Replaced, "changed in the sink, which holds something else than was put",
		"runs fetch them again where reportferry wrote what is there; to do it in any case", backfill, true},
	{refresh.HeldBack, "whose newest answer isn't published, because it takes good rows away",
		"runs ask again; if that is right", "accept {job} {days} --reason TEXT", true},
	{refresh.DiffersAlike, "with rows that differ from the service's totals in the same way on three days",
		"if that is right", "accept {job} {days} --reason TEXT", true},
	{refresh.Differs, "with rows that differ from the service's totals", "runs ask again; to fetch them now", backfill,
		true},
	{refresh.Suspicious, "without rows, although the periods on each side have some",
		"runs ask again on three days; to fetch them now", backfill, true},
	{refresh.MovedAndLeft, "that had been final and that the service has changed since; the rows stay (drift: warn)",
		"to take the new numbers", backfill, true},
	{refresh.ChangedFinal, "that changed after being final; the new numbers are published", "what they were before",
		history, false},
	{refresh.Gone, "that can't be fetched any more", "the service has no past of it, so that there is nothing to do",
		"", false},
	{refresh.Expired, "deleted by the table because of their age", "expire_days says how long it keeps them", "",
		false},
	{Lacking, "", "the next run fetches them; to do it now", "backfill {job} --missing-columns", false},
	{Near, "whose cohorts differ from the service's totals by less than reconcile: cohorts", "by how much",
		"history {job}", false},
	{Kept, "with older rows: the last answer was empty, and on_empty keeps them", "when each was fetched",
		"history {job}", false},
}

// The commands about some partitions.
const (
	backfill = "backfill {job} {range} --force"
	history  = "history {job} {range}"
)

// Backfill returns the command that fetches partitions of a job again.
func Backfill(job string, first, last civil.Date) string {
	return command(backfill, job, "", first, last)
}

// History returns the command that shows what partitions of a job were before.
func History(job string, first, last civil.Date) string {
	return command(history, job, "", first, last)
}

// command fills in a rule's command.
func command(text, job, kind string, first, last civil.Date) string {
	closing, days, between := "backfill "+job+" --gaps", "--days "+first.String()+":"+last.String(),
		"--from "+first.String()+" --to "+last.String()
	if kind == "events" { // of events only today's partition can be fetched
		closing = "run " + job
	}
	if first == sinks.Whole {
		text = strings.Replace(text, backfill, "run {job} --now", 1)
		days, between = "", ""
	}
	text = strings.NewReplacer("{closing}", closing, "{job}", job, "{days}", days, "{range}", between).Replace(text)
	return strings.Join(strings.Fields(text), " ")
}
