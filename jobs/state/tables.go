package state

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/partition"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// A column is a column of one of the tables, and what it means.
type column struct {
	table.Column
	description string
}

// Columns returns the columns of one of the tables.
func Columns(name string) (list []table.Column) {
	columns := partitionColumns
	if name == Restatements {
		columns = changeColumns
	}
	for _, c := range columns {
		list = append(list, c.Column)
	}
	return list
}

// key returns a column that is never NULL.
func key(name string, t catalog.Type, description string) column {
	return column{table.Column{Name: name, Source: name, Type: t, Dimension: true}, description}
}

// value returns a column that may be NULL.
func value(name string, t catalog.Type, description string) column {
	return column{table.Column{Name: name, Source: name, Type: t}, description}
}

// summed returns c as a column whose sum is kept in the record of a partition.
func summed(c column) column {
	c.Additive = true
	return c
}

// partitionColumns are those of the table of partitions. The first one names the partition of a
// row.
var partitionColumns = []column{
	key("month", catalog.Month, "Month of partition_date; 1970-01-01 for a table without periods"),
	key("table_name", catalog.String, "Table that the row tells of"),
	value("partition_date", catalog.Day, "First day of the partition; NULL for a table without periods"),
	key("state", catalog.String, "partial: fetched before the period's end; restating: the service may still change "+
		"it; final; publishing: a put was interrupted; "+
		"other meaning: a rebaseline hasn't replaced it yet"),
	value("final_at", catalog.Hour, "UTC; what is fetched from then on is final; NULL: never"),
	key("final_columns", catalog.String, "Columns that were final already when it was fetched, joined by commas"),
	value("fetched", catalog.Hour, "UTC; start of the first request of the last fetch"),
	value("since", catalog.Hour, "UTC; when this content was fetched first; NULL: an earlier version recorded it"),
	value("row_count", catalog.Int64, "Rows of the partition"),
	key("sums", catalog.String, "Sums of the metrics that add up, as a JSON object of exact decimals"),
	key("reconciled", catalog.String,
		"reconciled: the rows add up to the service's own totals; unreconciled; unchecked"),
	key("differences", catalog.String, "Of unreconciled: metrics, sums and totals, as JSON"),
	value("changed_after_final", catalog.Int64, "1 when the content replaced another one that was final, else 0"),
	key("reason", catalog.String, "Why it was fetched"),
	key("run", catalog.String, "ID of the run that recorded it"),
	summed(value("seq", catalog.Int64, "Sequence number of the record")),
	value("held_back", catalog.String, "Why the newest answer isn't published; NULL: it is"),
	value("accepted", catalog.String,
		"Why rows were published that would have been held back, behind the time; NULL: they weren't"),
	value("fingerprint", catalog.String,
		"Checksum of what its numbers mean: dimensions, filters, currency, zone, attribution, modes"),
	value("currency", catalog.String, "Currency of its money; NULL: it has none"),
	value("zone", catalog.String, "Zone, or offset from UTC, in which its period begins and ends; NULL: it has none"),
}

// partitionRow returns the row of a record; of is the record's shape.
func (s *Tables) partitionRow(r refresh.Rules, month civil.Date, e ledger.Record, of ledger.Shape) []any {
	f := r.FinalityOf(s.Now, e)
	if r.Stale[e.Shape].Rebased {
		f.State, f.Columns = OtherMeaning, nil
	}
	control, differences := ledger.Unchecked, ""
	if e.Control != nil {
		control = e.Control.State
		differences = jsonOf(e.Control.Differences, len(e.Control.Differences))
	}
	moved := int64(0)
	if e.Moved {
		moved = 1
	}
	var held, accepted any
	if e.Waits() {
		held = e.HeldBack.Why
	}
	if a := e.Accepted; a != nil {
		accepted = a.At.UTC().Format(time.DateTime) + " " + a.Reason
	}
	return []any{
		month, s.Of.Name(), dateOf(e.Partition), f.State, timeOf(f.At), strings.Join(f.Columns, ","), timeOf(e.Fetched),
		timeOf(e.Since), e.Rows,
		jsonOf(e.Sums, len(e.Sums)), string(control), differences, moved, e.Reason, e.Run, int64(e.Seq), held, accepted,
		of.FingerprintID(), textOf(of.Fingerprint["currency"]),
		textOf(cmp.Or(of.Fingerprint["timezone_id"], of.Fingerprint["utc_offset"])),
	}
}

// textOf returns a text, or NULL when it is empty.
func textOf(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// dateOf returns the first day of a partition, or NULL when it has none.
func dateOf(partition civil.Date) any {
	if partition == sinks.Whole {
		return nil
	}
	return partition
}

// timeOf returns a moment in UTC, or NULL when it is zero.
func timeOf(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// jsonOf returns a list, or an object with ascending keys, as JSON, or "" when it has no entries.
func jsonOf(v any, entries int) string {
	if entries == 0 {
		return ""
	}
	raw, err := json.Marshal(v)
	if err != nil {
		panic("state: texts in lists and maps: " + err.Error())
	}
	return string(raw)
}

// definition returns the definition of one of the tables.
func (s *Tables) definition(name string, columns []column) partition.Definition {
	d := partition.Definition{Shape: ledger.Shape{Fingerprint: map[string]string{"kind": name}}}
	descriptions := map[string]string{}
	for _, c := range columns {
		d.Columns = append(d.Columns, c.Column)
		d.Shape.Columns = append(d.Shape.Columns, ledger.Column{Name: c.Name, Type: c.Type.String(), Source: c.Source})
		descriptions[c.Name] = c.description
	}
	warehouse := sinks.Schema{KMSKey: s.Warehouse.KMSKey, Labels: s.Warehouse.Labels, History: s.Warehouse.History,
		ClusterBy: []string{"table_name"}}
	d.Complete(warehouse, refresh.Month.String(), nil,
		func(c table.Column) sinks.Column { return sinks.Column{Description: descriptions[c.Name]} })
	return d
}

// rebased returns the IDs of recorded shapes whose numbers have another meaning than the table's,
// ascending.
func rebased(r refresh.Rules) (ids []string) {
	for _, id := range slices.Sorted(maps.Keys(r.Stale)) {
		if r.Stale[id].Rebased {
			ids = append(ids, id)
		}
	}
	return ids
}

// partitions returns the definition of the table of partitions. Its fingerprint has what the states
// depend on besides the records, so that after a change of the config the rows of old records are
// made anew, too.
func (s *Tables) partitions(r refresh.Rules) partition.Definition {
	d := s.definition(Partitions, partitionColumns)
	var final []string
	for _, metric := range slices.Sorted(maps.Keys(r.FinalAfter)) {
		final = append(final, fmt.Sprintf("%s=%d", metric, r.FinalAfter[metric]))
	}
	d.Shape.Fingerprint["final after"] = strings.Join(final, ",")
	if old := rebased(r); old != nil {
		d.Shape.Fingerprint["other meaning"] = strings.Join(old, ",")
	}
	return d
}
