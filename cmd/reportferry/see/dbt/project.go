package dbt

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/reportferry/reportferry/cmd/reportferry/see/inspect"
	"github.com/reportferry/reportferry/internal/views"
	"github.com/reportferry/reportferry/jobs/state"
	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/pgsink"
)

// mark is in the first line of every file that the command may replace and remove later.
const mark = "Written by reportferry dbt, which replaces it."

// sourceName is the name of the dbt project, of its profile and of its source.
const sourceName = "reportferry"

// profiles is the name of the file that is written only once, because the project's users change
// it.
const profiles = "profiles.yml"

// source and ref return how the SQL of a model refers to a source's table and to another model;
// refTo returns the latter without braces.
func source(table string) string { return "{{ source('" + sourceName + "', '" + table + "') }}" }
func ref(model string) string    { return "{{ " + refTo(model) + " }}" }
func refTo(model string) string  { return "ref('" + model + "')" }

// stagedModel returns the name of the model of a table's rows.
func stagedModel(table string) string { return "stg_" + sourceName + "__" + table }

// stateTable returns the name in a warehouse of the state table of a kind that describes a table.
func (p *project) stateTable(kind, table string) string {
	return sinks.Flat(sinks.Derived(p.prefix+kind, table))
}

// hasStates reports whether there is a state table of a kind that describes a table.
func (p *project) hasStates(kind, table string) bool {
	return slices.Contains(p.states[kind], table)
}

// files returns the contents of the project's files by their paths in its folder.
func (p *project) files() (map[string]string, error) {
	models, files, err := p.models()
	if err != nil {
		return nil, err
	}
	// The time spines are models, too.
	statements := map[string]string{"macros/" + uniqueKey + ".sql": uniqueMacro}
	units := p.spines()
	for _, unit := range slices.Sorted(maps.Keys(units)) {
		m := spine(unit)
		models = append(models, m)
		statements["models/semantic/"+m.Name+".sql"] = fmt.Sprintf(spineSQL[p.Name], units[unit], unit)
	}
	// Documents in YAML.
	semantic, metrics := p.semantic()
	documents := map[string]any{
		"dbt_project.yml": projectFile{
			Name: sourceName, Version: "1.0.0", ConfigVersion: 2, Profile: sourceName, Requires: ">=1.10.5",
			Models: map[string]any{sourceName: map[string]string{"+materialized": "view"}},
			Tests: map[string]any{sourceName: map[string]any{
				unreconciled:      map[string]string{"+severity": "warn"},
				changedAfterFinal: map[string]string{"+severity": "warn"},
			}},
		},
		profiles: map[string]any{sourceName: map[string]any{"target": "main",
			"outputs": map[string]any{"main": p.place.output}}},
		"models/staging/sources.yml":   properties{Version: 2, Sources: []sourceFile{p.source()}},
		"models/models.yml":            properties{Version: 2, Models: models},
		"models/exposures.yml":         properties{Version: 2, Exposures: p.exposures(models)},
		"models/semantic/semantic.yml": properties{Version: 2, SemanticModels: semantic, Metrics: metrics},
	}
	for path, document := range documents {
		text, err := yaml.MarshalWithOptions(document, yaml.IndentSequence(true))
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", path, err)
		}
		head := "# " + mark + "\n"
		if path == profiles {
			head = "# How dbt connects. It is yours: reportferry dbt writes it only if it isn't there.\n"
		}
		files[path] = head + string(text)
	}
	// Tests and models in SQL.
	if p.states[state.Partitions] != nil {
		for name, condition := range map[string]string{unreconciled: "reconciled = 'unreconciled'",
			changedAfterFinal: "changed_after_final > 0"} {
			statements["tests/"+name+".sql"] = "SELECT table_name, partition_date, state, reconciled, " +
				"differences\nFROM " +
				ref(p.prefix+state.Partitions) + "\nWHERE " + condition
		}
	}
	files[".gitignore"] = "# " + mark + "\n/target/\n/logs/\n/dbt_packages/\n*.duckdb\n*.duckdb.wal\n"
	for path, statement := range statements {
		files[path] = "{# " + mark + " #}\n" + statement + "\n"
	}
	return files, nil
}

// models returns the models, which are the views of all tables, each once. list has them as dbt
// lists them, and files their SQL by the paths of the files.
func (p *project) models() (list []model, files map[string]string, err error) {
	files = map[string]string{}
	for _, t := range p.tables {
		r := inspect.Reading{
			Place: views.Place{Dialect: p.Dialect, Table: func(name string) string { return ref(stagedModel(name)) },
				Named: ref},
			Whole: source(t.Table), States: map[string][]string{}, Prefix: p.prefix,
			Freshness: ref(p.prefix + state.Partitions),
		}
		if p.Name == views.Postgres.Name {
			r.Longest = pgsink.LongestName
		}
		if p.hasStates(state.Partitions, t.Table) {
			r.Partitions = source(p.stateTable(state.Partitions, t.Table))
		}
		for kind, tables := range p.states {
			for _, name := range tables {
				r.States[kind] = append(r.States[kind], source(p.stateTable(kind, name)))
			}
		}
		if p.Name == views.BigQuery.Name {
			r.Freshness = p.Quote(p.place.database) + "." + p.Quote(p.place.schema) + ".INFORMATION_SCHEMA.PARTITIONS"
		}
		made, err := r.Views(t.sums)
		if err != nil {
			return nil, nil, fmt.Errorf("table %s: %w", t.Table, err)
		}
		for _, v := range made {
			m, folder, config := model{Name: v.Name}, "marts", ""
			switch v.Name {
			case t.Table:
				m.Name, folder = stagedModel(t.Table), "staging"
				m.Description = "The rows of " + t.Table +
					", without those of another currency, zone or filter, which a rebaseline hasn't replaced yet."
				// In DuckDB no table has this name, so the view can have the name that
				// `reportferry views` gives it.
				if p.Name == views.DuckDB.Name {
					config = "{{ config(alias='" + t.Table + "') }}\n"
				}
			case t.Table + "_final":
				m.Description = "The rows of " + t.Table + " that the service changes no more."
			case p.prefix + state.Partitions:
				folder, m.Description = "staging",
					"Of every partition of every table whether it is final and reconciled."
			case p.prefix + state.Restatements:
				folder, m.Description = "staging", "Which sums of a partition changed, when, and by how much."
			case p.prefix + "freshness":
				m.Description = "How fresh every table is: its newest period, its rows, and when they were loaded."
			default:
				if t.sums.Sums == nil {
					continue
				}
				m.Description = "The sums of " + t.Table + ", and ratios that are computed of them."
			}
			path := "models/" + folder + "/" + m.Name + ".sql"
			if files[path] == "" {
				list = append(list, m)
			}
			files[path] = "{# " + mark + " #}\n" + config + v.Query + "\n"
		}
	}
	return list, files, nil
}

// The names of the project's data tests.
const (
	uniqueKey         = "reportferry_unique"
	unreconciled      = "reportferry_unreconciled"
	changedAfterFinal = "reportferry_changed_after_final"
)

// uniqueMacro defines the test uniqueKey: no two rows have the same values in all of the columns.
const uniqueMacro = `{% test ` + uniqueKey + `(model, columns) %}
{%- set keys = [] -%}
{%- for column in columns %}{% do keys.append(adapter.quote(column)) %}{% endfor -%}
SELECT {{ keys | join(', ') }}, COUNT(*) AS row_count
FROM {{ model }}
GROUP BY {{ keys | join(', ') }}
HAVING COUNT(*) > 1
{% endtest %}`

// exposures returns the dashboards of deploy/bi that read the models. Grafana's isn't among them:
// it reads the program's own metrics.
func (p *project) exposures(models []model) (list []exposure) {
	has := map[string]bool{}
	var sums []string
	for _, m := range models {
		has[m.Name] = true
		if strings.Contains(m.Name, "_by_") || m.Name == p.prefix+"freshness" {
			sums = append(sums, refTo(m.Name))
		}
	}
	add := func(name, label, description string, on []string) {
		list = append(list, exposure{Name: name, Label: label, Type: "dashboard", Owner: owner{"whoever reads it"},
			Description: description, DependsOn: on})
	}
	states := []string{}
	for _, kind := range inspect.StateKinds {
		if has[p.prefix+kind] {
			states = append(states, refTo(p.prefix+kind))
		}
	}
	const cohorts = "cohorts_daily" // the table that the bundle in deploy/bi/superset reads
	if has[stagedModel(cohorts)] && len(states) > 0 {
		add("superset_performance", "Performance (Superset)",
			"Spend, installs, eCPI, ROAS and cohorts: deploy/bi/superset of reportferry.",
			[]string{refTo(stagedModel(cohorts)), states[0]})
	}
	if len(states) > 0 {
		add("superset_freshness", "Freshness (Superset)",
			"What isn't final, differs or was restated: deploy/bi/superset of reportferry.", states)
	}
	if p.Name == views.BigQuery.Name && len(sums) > 0 {
		add("looker_studio", "Campaigns, and freshness (Looker Studio)",
			"Sums and ratios by day: deploy/bi/looker-studio.md of reportferry.", sums)
	}
	return list
}
