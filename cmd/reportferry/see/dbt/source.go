package dbt

import (
	"math"
	"strings"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/see/inspect"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/views"
	"github.com/reportferry/reportferry/jobs/partition"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/state"
	"github.com/reportferry/reportferry/sinks"

	converted "github.com/reportferry/reportferry/internal/table"
)

// The contents of dbt's files, as far as the command writes them
// (https://docs.getdbt.com/reference/configs-and-properties).
type (
	projectFile struct { // dbt_project.yml
		Name          string         `yaml:"name"`
		Version       string         `yaml:"version"`
		ConfigVersion int            `yaml:"config-version"`
		Profile       string         `yaml:"profile"`
		Requires      string         `yaml:"require-dbt-version"`
		Models        map[string]any `yaml:"models"`
		Tests         map[string]any `yaml:"data_tests"`
	}
	properties struct { // a file with properties of what it lists, below models/
		Version        int             `yaml:"version"`
		Sources        []sourceFile    `yaml:"sources,omitempty"`
		Models         []model         `yaml:"models,omitempty"`
		Exposures      []exposure      `yaml:"exposures,omitempty"`
		SemanticModels []semanticModel `yaml:"semantic_models,omitempty"`
		Metrics        []metric        `yaml:"metrics,omitempty"`
	}
	sourceFile struct { // a source: the place of tables that other programs fill
		Name        string        `yaml:"name"`
		Description string        `yaml:"description"`
		Database    string        `yaml:"database,omitempty"`
		Schema      string        `yaml:"schema,omitempty"`
		Config      *sourceConfig `yaml:"config,omitempty"`
		Tables      []sourceTable `yaml:"tables"`
	}
	sourceConfig struct {
		Meta      map[string]string `yaml:"meta,omitempty"`
		LoadedAt  string            `yaml:"loaded_at_field,omitempty"`
		Freshness *freshness        `yaml:"freshness,omitempty"`
	}
	freshness struct { // how old the newest fetch may be
		WarnAfter age    `yaml:"warn_after"`
		Filter    string `yaml:"filter"`
	}
	age struct {
		Count  int    `yaml:"count"`
		Period string `yaml:"period"`
	}
	sourceTable struct { // a table of a source
		Name        string         `yaml:"name"`
		Identifier  string         `yaml:"identifier,omitempty"`
		Description string         `yaml:"description,omitempty"`
		Config      *sourceConfig  `yaml:"config,omitempty"`
		Tests       []any          `yaml:"data_tests,omitempty"`
		Columns     []sourceColumn `yaml:"columns"`
	}
	sourceColumn struct {
		Name        string `yaml:"name"`
		Description string `yaml:"description,omitempty"`
		Type        string `yaml:"data_type"`
		Tests       []any  `yaml:"data_tests,omitempty"`
	}
	testBody struct { // what a data test is called with
		Arguments map[string]any    `yaml:"arguments,omitempty"`
		Config    map[string]string `yaml:"config,omitempty"`
	}
	model struct { // a model, which is a query or a time spine
		Name        string              `yaml:"name"`
		Description string              `yaml:"description"`
		Spine       map[string]string   `yaml:"time_spine,omitempty"`
		Columns     []map[string]string `yaml:"columns,omitempty"`
	}
	exposure struct { // a dashboard that reads models
		Name        string   `yaml:"name"`
		Label       string   `yaml:"label"`
		Type        string   `yaml:"type"`
		Owner       owner    `yaml:"owner"`
		Description string   `yaml:"description"`
		DependsOn   []string `yaml:"depends_on"`
	}
	owner struct {
		Name string `yaml:"name"`
	}
)

// source returns dbt's source, with every table and its state tables.
func (p *project) source() sourceFile {
	s := sourceFile{
		Name: sourceName, Description: "Tables that reportferry fills: each partition is replaced whole or not at all.",
		Database: p.place.database, Schema: p.place.schema,
	}
	if p.place.files != "" {
		s.Config = &sourceConfig{Meta: map[string]string{"external_location": p.place.files}}
	}
	for _, t := range p.tables {
		s.Tables = append(s.Tables, p.dataTable(t))
		for _, kind := range inspect.StateKinds {
			if p.hasStates(kind, t.Table) {
				s.Tables = append(s.Tables, p.tableOfStates(kind, t))
			}
		}
	}
	return s
}

// dataTable returns the table of a job as the source lists it, with tests of its key.
func (p *project) dataTable(t table) sourceTable {
	var only map[string]string
	if t.schema.RequireFilter { // the warehouse refuses a query without a filter on the date
		only = map[string]string{"where": t.schema.On + " >= '1970-01-01'"}
	}
	s := sourceTable{Name: t.Table, Description: t.schema.About.Text, Columns: p.columns(t.schema)}
	var keys []string
	for i, c := range t.schema.Columns {
		if !c.Required {
			continue
		}
		keys = append(keys, c.Name)
		s.Columns[i].Tests = []any{"not_null"}
		if only != nil {
			s.Columns[i].Tests = []any{map[string]any{"not_null": testBody{Config: only}}}
		}
	}
	if keys != nil {
		s.Tests = []any{map[string]any{uniqueKey: testBody{Arguments: map[string]any{"columns": keys}, Config: only}}}
	}
	return s
}

// columns returns the columns of a schema as a source lists them.
func (p *project) columns(s *sinks.Schema) (list []sourceColumn) {
	for _, c := range s.Columns {
		list = append(list, sourceColumn{Name: c.Name, Description: c.Text(), Type: p.place.typeName(c.Type)})
	}
	return list
}

// tableOfStates returns the state table of a kind that describes the table t. The state table of
// partitions has a freshness, because it says when each partition was fetched last.
func (p *project) tableOfStates(kind string, t table) sourceTable {
	s := sourceTable{Name: p.stateTable(kind, t.Table), Description: "What is told of " + t.Table + ": see the model " +
		p.prefix + kind + "."}
	if p.place.files != "" {
		s.Identifier = sinks.Derived(p.prefix+kind, t.Table) // the name of its folder
	}
	d := partition.Definition{Columns: state.Columns(kind), Route: converted.NoRoute}
	d.Complete(sinks.Schema{}, "", nil, func(converted.Column) sinks.Column { return sinks.Column{} })
	s.Columns = p.columns(d.Schema)
	if kind == state.Partitions {
		s.Config = &sourceConfig{
			LoadedAt: "fetched", Freshness: &freshness{WarnAfter: age{hoursBetween(t.Job), "hour"},
				Filter: "table_name = " + views.Text(t.Table)},
		}
		if p.Name == views.BigQuery.Name {
			s.Config.LoadedAt = "CAST(fetched AS TIMESTAMP)"
		}
	}
	return s
}

// hoursBetween returns the longest time between two fetches by the job's schedule plus two hours
// for the fetch: 26 hours for a daily schedule, and for a job without one.
func hoursBetween(c config.Job) int {
	longest := 24 * time.Hour
	if schedule, err := refresh.ParseSchedule(c.Schedule, c.Zone); err == nil && schedule != nil {
		longest = 0
		// Any year will do: each has weekends, months and clock changes.
		at := schedule.Next(time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC))
		for range 500 {
			next := schedule.Next(at)
			longest, at = max(longest, next.Sub(at)), next
		}
	}
	return int(math.Ceil((longest + 2*time.Hour).Hours()))
}

// metricFlowName turns a column's name into one that MetricFlow takes: small letters, digits and
// single underscores, with a letter first and no underscore last.
func metricFlowName(column string) string {
	words := strings.FieldsFunc(strings.ToLower(column), func(r rune) bool {
		return (r < 'a' || r > 'z') &&
			(r < '0' || r > '9')
	})
	name := strings.Join(words, "_")
	if name == "" || name[0] <= '9' {
		name = "t_" + name
	}
	return name
}
