package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// The names of the checks that an asset may declare.
const (
	reconciledCheck = "reconciled" // the rows agree with the service's totals
	freshCheck      = "fresh"      // the table lacks nothing that a fetch would bring by now
)

// message writes one message of the protocol to the file or the writer that Dagster reads.
func (p *DagsterPipes) message(method string, params any) error {
	text, err := json.Marshal(map[string]any{"__dagster_pipes_version": "0.1", "method": method, "params": params})
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if p.file == "" {
		_, err = p.writer.Write(text)
		return err
	}
	file, err := os.OpenFile(p.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

// ListenForDagster opens the step that the environment names, and tells it that the process has
// understood it. Without a step it returns a listener that does nothing.
func ListenForDagster(lookup func(string) (string, bool), stdout, stderr io.Writer) (wire.Listener, error) {
	p, err := OpenDagster(lookup, stdout, stderr)
	if p == nil || err != nil {
		return wire.NoListener{}, err
	}
	return p, p.message("opened", map[string]any{"extras": map[string]any{}})
}

// Closed tells the step how the process ends.
func (p *DagsterPipes) Closed(_ context.Context, code int, err error) error {
	params := map[string]any{}
	if code != jobs.ExitDone {
		said := fmt.Sprintf("exit code %d", code)
		if silent := (*text.ExitError)(nil); err != nil && (!errors.As(err, &silent) || silent.Err != nil) {
			said = err.Error()
		}
		params["exception"] = map[string]any{"message": said, "stack": []string{}, "name": text.FailureReason(err),
			"cause": nil, "context": nil}
	}
	return p.message("closed", params)
}

// Ended tells the step what became of a run.
func (p *DagsterPipes) Ended(ctx context.Context, s *wire.RunInfo) error {
	run, err := resultOf(ctx, s)
	if err != nil {
		return err
	}
	errs := []error{p.message("report_custom_message", map[string]any{"payload": map[string]any{"reportferry": run}})}
	for _, job := range run.Jobs {
		if asset := p.assetOf(job); asset != "" {
			errs = append(errs, p.reportMaterialization(asset, job), p.reportChecks(ctx, s.Session, asset, job))
		}
	}
	return errors.Join(errs...)
}

// assetOf returns the asset that a job fills: the only one of the step, or the one that has the
// name of the job or of its table. It is empty when there is none.
func (p *DagsterPipes) assetOf(j jobResult) string {
	if len(p.step.Assets) == 1 {
		return p.step.Assets[0]
	}
	i := slices.IndexFunc(p.step.Assets, func(a string) bool { return a == j.Job || a == j.Table })
	if i < 0 {
		return ""
	}
	return p.step.Assets[i]
}

// reportMaterialization reports that the asset was materialized. The protocol has one message for
// all partitions of a step. So for several partitions the message has the sum of their rows and a
// version of all their contents, and it is sent only when all of them are there. What became of
// each partition is in the custom message.
func (p *DagsterPipes) reportMaterialization(asset string, j jobResult) error {
	if len(j.Partitions) == 0 || slices.ContainsFunc(j.Partitions,
		func(p partitionResult) bool { return !isDone(p) }) {
		return nil
	}
	rows, version := int64(0), j.Partitions[0].Hash
	all := sha256.New() // hash of the days and their contents
	for _, p := range j.Partitions {
		rows += p.Rows
		fmt.Fprintf(all, "%s %s\n", p.Partition, p.Hash)
	}
	about := map[string]any{"partitions": numberValue(len(j.Partitions)), "rows": numberValue(rows)}
	if len(j.Partitions) == 1 {
		one := j.Partitions[0]
		about["dagster/partition_row_count"] = numberValue(one.Rows)
		about["state"], about["finality"] = textValue(one.State), textValue(cmp.Or(one.Finality, "unknown"))
		about["sums"] = jsonValue(one.Sums)
		if len(one.Sinks) > 0 {
			about["dagster/uri"] = textValue(one.Sinks[0].Sink)
			about["key"] = textValue(one.Sinks[0].Key)
		}
		if one.Fetched != nil {
			about["fetched"] = textValue(one.Fetched.UTC().Format(time.RFC3339))
		}
	} else {
		version = hex.EncodeToString(all.Sum(nil))
	}
	if version == "" {
		version = "empty" // no rows, and never had any
	}
	return p.message("report_asset_materialization", map[string]any{"asset_key": asset, "data_version": version,
		"metadata": about})
}

// isDone tells whether a partition neither failed nor was left to the next run. Its older rows may
// have stayed, as in the states kept and held_back.
func isDone(p partitionResult) bool { return p.State != stateFailed && p.State != stateLeft }

// reportChecks reports the results of the checks that the asset declares. Dagster refuses others.
func (p *DagsterPipes) reportChecks(ctx context.Context, s *wire.Session, asset string, j jobResult) error {
	var errs []error
	check := func(name string, passed bool, severity string, about map[string]any) {
		if slices.Contains(p.step.Extras.Checks, name) {
			errs = append(errs, p.message("report_asset_check", map[string]any{
				"asset_key": asset, "check_name": name, "passed": passed, "severity": severity, "metadata": about,
			}))
		}
	}
	var in refresh.Inspection // covers the whole table, not the step's days alone
	c := s.Config.Job(j.Job)
	if c.Sinks != nil && len(p.step.Extras.Checks) > 0 {
		past, err := s.Past(ctx, wire.LastRuns)
		if err == nil {
			in, _, err = s.Inspect(ctx, c, past)
		}
		if err != nil {
			return err
		}
	}
	differs := map[string]bool{} // by partition
	for _, e := range in.Calendar {
		differs[e.Partition.String()] = e.Condition == refresh.Differs || e.Condition == refresh.DiffersAlike
	}
	differing, unchecked := []string{}, 0
	for _, one := range j.Partitions {
		if differs[one.Partition] {
			differing = append(differing, one.Partition)
		}
		if one.Reconciled != string(ledger.Reconciled) && one.Reconciled != string(ledger.Unreconciled) {
			unchecked++
		}
	}
	problems := jsonValue(append([]ledger.Problem{}, in.Problems...))
	check(reconciledCheck, len(differing) == 0, "ERROR", map[string]any{
		"partitions": numberValue(len(j.Partitions)), "unchecked": numberValue(unchecked),
		"differing": jsonValue(differing),
		"problems":  problems,
	})
	if c.Sinks != nil {
		check(freshCheck, in.Missing() == 0, "WARN", map[string]any{"missing": numberValue(in.Missing()),
			"newest_complete": textValue(cmp.Or(j.Newest, "none")), "problems": problems})
	}
	return errors.Join(errs...)
}

// numberValue returns a whole number in the form of Dagster's metadata.
func numberValue[N int | int64](n N) map[string]any {
	return map[string]any{"raw_value": n, "type": "int"}
}

// textValue returns a text in the form of Dagster's metadata.
func textValue(s string) map[string]any { return map[string]any{"raw_value": s, "type": "text"} }

// jsonValue returns any value in the form of Dagster's metadata.
func jsonValue(v any) map[string]any { return map[string]any{"raw_value": v, "type": "json"} }
