package run

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/internal/notify"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks"
)

// A catalogue is the receiver of events, as OpenLineage's own variables name it
// (https://openlineage.io/docs/client/python/configuration).
type catalogue struct {
	wire.NoListener          // ignores the moments of a run that have no method here
	address         string   // where events are posted
	key             string   // API key; empty: none is sent
	namespace       string   // of the jobs
	parent          []string // namespace, name and run ID of the run that started this one; nil: none did
	version         string   // of this program
	http            *notify.Poster
}

// ListenForLineage returns a listener that sends events to the catalogue that the environment
// names. When it names none, the listener does nothing.
func ListenForLineage(p *wire.Program) wire.Listener {
	get := func(name string) string {
		value, _ := p.LookupEnv(name)
		return value
	}
	base := get("OPENLINEAGE_URL")
	if base == "" || strings.EqualFold(get("OPENLINEAGE_DISABLED"), "true") {
		return wire.NoListener{}
	}
	c := &catalogue{
		address: strings.TrimRight(base, "/") + "/" + strings.TrimLeft(cmp.Or(get("OPENLINEAGE_ENDPOINT"),
			"api/v1/lineage"), "/"),
		key: get("OPENLINEAGE_API_KEY"), namespace: cmp.Or(get("OPENLINEAGE_NAMESPACE"), "default"),
		version: p.Version,
		http:    notify.NewPoster(),
	}
	if parts := strings.Split(get("OPENLINEAGE_PARENT_ID"), "/"); len(parts) >= 3 {
		c.parent = []string{parts[0], strings.Join(parts[1:len(parts)-1], "/"), parts[len(parts)-1]}
	}
	return c
}

// Begun sends a START event for each job of a run.
func (c *catalogue) Begun(ctx context.Context, s *wire.RunInfo) error {
	for _, j := range s.List {
		if err := c.send(ctx, c.event(ctx, s, eventStart, s.Record.Started, j.Name)); err != nil {
			return err
		}
	}
	return nil
}

// Ended sends an event with the result of each job of a run.
func (c *catalogue) Ended(ctx context.Context, s *wire.RunInfo) error {
	for _, res := range s.Record.Results {
		if err := c.send(ctx, c.endEvent(ctx, s, res)); err != nil {
			return err
		}
	}
	return nil
}

// send sends an event. Its errors name the job, and never contain the address.
func (c *catalogue) send(ctx context.Context, e lineageEvent) error {
	if err := c.http.Post(ctx, c.address, c.key, e); err != nil {
		return fmt.Errorf("job %s, %s: %w", e.Job.Name, e.Type, err)
	}
	return nil
}

// event returns an event with what is known of a job at its start and at its end alike.
func (c *catalogue) event(ctx context.Context, s *wire.RunInfo, typ string, at time.Time, name string) lineageEvent {
	e := lineageEvent{
		Type: typ, Time: at.UTC(), Producer: lineageProducer, SchemaURL: lineageSpec +
			"2-0-2/OpenLineage.json#/$defs/RunEvent",
		Inputs: []lineageDataset{}, Outputs: []lineageDataset{},
		Run: lineageRun{ID: lineageRunID(s.RunID, name), Facets: map[string]any{
			"processing_engine": lineageFacet("1-1-1/ProcessingEngineRunFacet",
				map[string]any{"name": "reportferry", "version": c.version}),
		}},
		Job: lineageJob{Namespace: c.namespace, Name: name, Facets: map[string]any{
			"jobType": lineageFacet("2-0-4/JobTypeJobFacet", map[string]any{"processingType": "BATCH",
				"integration": "REPORTFERRY", "jobType": "JOB"}),
		}},
	}
	if c.parent != nil {
		e.Run.Facets["parent"] = lineageFacet("1-2-0/ParentRunFacet", map[string]any{
			"job": map[string]any{"namespace": c.parent[0], "name": c.parent[1]},
			"run": map[string]any{"runId": c.parent[2]},
		})
	}
	entry := s.Config.Job(name)
	if entry.Sinks == nil { // a job that writes to the service, not to a table
		return e
	}
	if at, err := url.Parse(s.Config.Service.BaseURL); err == nil && at.Host != "" {
		e.Inputs = append(e.Inputs, lineageDataset{Namespace: at.Scheme + "://" + at.Host, Name: entry.Kind,
			Facets: map[string]any{}})
	}
	facets := c.schemaFacet(ctx, s, entry.Table)
	for _, sink := range entry.Sinks {
		namespace, table := datasetPlace(sinks.Redact(sink), entry.Table)
		e.Outputs = append(e.Outputs, lineageDataset{Namespace: namespace, Name: table, Facets: facets})
	}
	return e
}

// schemaFacet returns facets with the table's columns as the ledger has them. It returns an empty
// map when the ledger has none yet.
func (c *catalogue) schemaFacet(ctx context.Context, s *wire.RunInfo, table string) map[string]any {
	facets, fields := map[string]any{}, []map[string]any{}
	t, err := s.Ledger.Table(ctx, table)
	if err != nil {
		return facets
	}
	shape, known, err := t.LastShape(ctx)
	if err != nil || !known {
		return facets
	}
	for _, column := range shape.Columns {
		fields = append(fields, map[string]any{"name": column.Name, "type": column.Type})
	}
	facets["schema"] = lineageFacet("1-2-0/SchemaDatasetFacet", map[string]any{"fields": fields})
	return facets
}

// endEvent returns the event for the result of a job.
func (c *catalogue) endEvent(ctx context.Context, s *wire.RunInfo, res ledger.Result) lineageEvent {
	typ := eventComplete
	switch {
	case len(res.Errs) > 0:
		typ = eventFail
	case res.Stopped || res.Left > 0:
		typ = eventAbort
	}
	at := time.Now()
	if s.Record.Ended != nil {
		at = *s.Record.Ended
	}
	e := c.event(ctx, s, typ, at, res.Job)
	if typ == eventFail {
		e.Run.Facets["errorMessage"] = lineageFacet("1-0-1/ErrorMessageRunFacet",
			map[string]any{"message": terminal.Text(res.Errs[0].Error()), "programmingLanguage": "go"})
	}
	o := res.Outcome
	for i := range e.Outputs {
		statistics := map[string]any{"rowCount": o.Rows, "size": o.ParquetBytes / int64(len(e.Outputs)),
			"fileCount": o.Written}
		e.Outputs[i].Output = map[string]any{"outputStatistics": lineageFacet(
			"1-0-2/OutputStatisticsOutputDatasetFacet", statistics)}
	}
	return e
}
