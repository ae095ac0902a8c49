package bqtest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	bq "google.golang.org/api/bigquery/v2"
)

// The column types of this server, by the names that the REST answers use.
const (
	typeString    = "STRING"
	typeInteger   = "INTEGER"
	typeFloat     = "FLOAT"
	typeNumeric   = "NUMERIC"
	typeBool      = "BOOLEAN"
	typeDate      = "DATE"
	typeDateTime  = "DATETIME"
	typeTimestamp = "TIMESTAMP"
)

// standardNames maps the names of the SQL reference, which requests may use, to those of the
// answers.
var standardNames = map[string]string{"INT64": typeInteger, "FLOAT64": typeFloat, "BOOL": typeBool,
	"DECIMAL": typeNumeric}

// keptTypes are the types that a column can have here.
var keptTypes = []string{typeString, typeInteger, typeFloat, typeNumeric, typeBool, typeDate, typeDateTime,
	typeTimestamp}

// columnName matches the names of columns.
// https://cloud.google.com/bigquery/docs/schemas#column_names
var columnName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,299}$`)

// reservedPrefixes are the beginnings that no column's name may have, by the same page.
var reservedPrefixes = []string{"_TABLE_", "_FILE_", "_PARTITION", "_ROW_TIMESTAMP", "__ROOT__", "_COLIDENTIFIER"}

// normalizeSchema replaces the names of types and modes by those of the answers, and refuses what
// BigQuery or this server lacks.
func normalizeSchema(s *bq.TableSchema) *refusal {
	if s == nil {
		return nil
	}
	seen := map[string]bool{}
	for _, f := range s.Fields {
		f.Type = strings.ToUpper(f.Type)
		if legacy, ok := standardNames[f.Type]; ok {
			f.Type = legacy
		}
		f.Mode = strings.ToUpper(f.Mode)
		if f.Mode == "" {
			f.Mode = "NULLABLE"
		}
		lower := strings.ToLower(f.Name)
		switch {
		case !columnName.MatchString(f.Name):
			return refuse("invalid", "Invalid field name \"%s\". Fields must contain only letters, numbers, and "+
				"underscores, start with a letter or underscore, and be at most 300 characters long.", f.Name)
		case slices.ContainsFunc(reservedPrefixes,
			func(p string) bool { return strings.HasPrefix(strings.ToUpper(f.Name), p) }):
			return refuse("invalid", "Invalid field name \"%s\". Field names are not allowed to start with the "+
				"(case-insensitive) prefixes %s", f.Name, strings.Join(reservedPrefixes, ", "))
		case seen[lower]:
			return refuse("invalid", "Duplicate column names in the schema: '%s'", f.Name)
		case !slices.Contains(keptTypes, f.Type):
			return refuse("notImplemented", "bqtest keeps no columns of type %s (field: %s)", f.Type, f.Name)
		case f.Mode != "NULLABLE" && f.Mode != "REQUIRED":
			return refuse("notImplemented", "bqtest keeps no columns of mode %s (field: %s)", f.Mode, f.Name)
		case f.Precision != 0 || f.Scale != 0 || f.MaxLength != 0:
			return refuse("notImplemented", "bqtest keeps no parameterised types (field: %s)", f.Name)
		case utf8.RuneCountInString(f.Description) > 1024:
			return refuse("invalid", "Field description of %s is longer than 1024 characters", f.Name)
		}
		seen[lower] = true
	}
	return nil
}

// checkTable checks the definition of a table, from tables.insert or after a patch.
func checkTable(doc *bq.Table) *refusal {
	if r := normalizeSchema(doc.Schema); r != nil {
		return r
	}
	if doc.RangePartitioning != nil || doc.ExternalDataConfiguration != nil || doc.MaterializedView != nil {
		return refuse("notImplemented", "bqtest has no range partitioning, external tables or materialized views")
	}
	if r := checkLabels(doc.Labels); r != nil {
		return r
	}
	if utf8.RuneCountInString(doc.Description) > 16384 {
		return refuse("invalid", "Table description is longer than 16384 characters")
	}
	if p := doc.TimePartitioning; p != nil && p.RequirePartitionFilter { // the setting's deprecated place
		p.RequirePartitionFilter, doc.RequirePartitionFilter = false, true
	}
	if doc.RequirePartitionFilter && doc.TimePartitioning == nil {
		return refuse("invalid", "require_partition_filter cannot be set for a table that is not partitioned")
	}
	if r := checkPartitioning(doc.TimePartitioning, doc.Schema); r != nil {
		return r
	}
	return checkClustering(doc.Clustering, doc.Schema)
}

// fieldOf returns the column of that name in upper or lower case, or nil.
func fieldOf(s *bq.TableSchema, name string) *bq.TableFieldSchema {
	if s == nil {
		return nil
	}
	for _, f := range s.Fields {
		if strings.EqualFold(f.Name, name) {
			return f
		}
	}
	return nil
}

// checkClustering allows up to four columns, none of them FLOAT.
// https://cloud.google.com/bigquery/docs/clustered-tables#limitations
func checkClustering(c *bq.Clustering, s *bq.TableSchema) *refusal {
	if c == nil {
		return nil
	}
	if len(c.Fields) == 0 || len(c.Fields) > 4 {
		return refuse("invalid", "Too many or no clustering columns: %d. Clustering takes 1 to 4 columns.",
			len(c.Fields))
	}
	for _, name := range c.Fields {
		f := fieldOf(s, name)
		if f == nil {
			return refuse("invalid", "The field specified for clustering cannot be found in the schema. Invalid "+
				"field: %s.", name)
		}
		if f.Type == typeFloat {
			return refuse("invalid", "Field %s is of type FLOAT64, which clustering doesn't support.", name)
		}
	}
	return nil
}

// checkLabels checks keys and values:
// https://cloud.google.com/bigquery/docs/labels-intro#requirements
func checkLabels(labels map[string]string) *refusal {
	if len(labels) > 64 {
		return refuse("invalid", "%d labels; a resource has at most 64", len(labels))
	}
	for k, v := range labels {
		first, _ := utf8.DecodeRuneInString(k)
		if k == "" || !unicode.IsLetter(first) || !labelText(k) {
			return refuse("invalid", "Label key \"%s\" has invalid characters: 1 to 63 lower-case letters, digits, "+
				"_ and -, beginning with a letter", k)
		}
		if !labelText(v) {
			return refuse("invalid", "Label value \"%s\" has invalid characters: at most 63 lower-case letters, "+
				"digits, _ and -", v)
		}
	}
	return nil
}

// labelText reports whether a text can be a label's key or value.
func labelText(s string) bool {
	for _, r := range s {
		if unicode.IsUpper(r) || !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' {
			return false
		}
	}
	return utf8.RuneCountInString(s) <= 63
}

// schemaChanges is how a new schema differs from an old one.
type schemaChanges struct {
	added           []*bq.TableFieldSchema
	relaxed         []string // REQUIRED to NULLABLE
	alwaysForbidden []string // changes that no option allows, in BigQuery's words
}

// compareSchemas returns the changes from old to fresh.
func compareSchemas(old, fresh *bq.TableSchema) schemaChanges {
	var c schemaChanges
	for _, f := range fresh.Fields {
		have := fieldOf(old, f.Name)
		switch {
		case have == nil && f.Mode == "REQUIRED":
			c.alwaysForbidden = append(c.alwaysForbidden,
				fmt.Sprintf("Cannot add required fields to an existing schema. (field: %s)",
					f.Name))
		case have == nil:
			c.added = append(c.added, f)
		case have.Type != f.Type:
			c.alwaysForbidden = append(c.alwaysForbidden,
				fmt.Sprintf("Field %s has changed type from %s to %s", f.Name, have.Type, f.Type))
		case have.Mode == "REQUIRED" && f.Mode != "REQUIRED":
			c.relaxed = append(c.relaxed, f.Name)
		case have.Mode != "REQUIRED" && f.Mode == "REQUIRED":
			c.alwaysForbidden = append(c.alwaysForbidden,
				fmt.Sprintf("Field %s has changed mode from NULLABLE to REQUIRED", f.Name))
		}
	}
	for _, f := range old.Fields {
		if fieldOf(fresh, f.Name) == nil {
			c.alwaysForbidden = append(c.alwaysForbidden, fmt.Sprintf("Field %s is missing in new schema", f.Name))
		}
	}
	return c
}

// firstForbidden returns the first change that isn't allowed, or "".
func (c schemaChanges) firstForbidden(addition, relaxation bool) string {
	if all := c.allForbidden(addition, relaxation); len(all) > 0 {
		return all[0]
	}
	return ""
}

// allForbidden returns every change that isn't allowed.
func (c schemaChanges) allForbidden(addition, relaxation bool) []string {
	bad := slices.Clone(c.alwaysForbidden)
	if !addition {
		for _, f := range c.added {
			bad = append(bad, fmt.Sprintf("Cannot add fields (field: %s)", f.Name))
		}
	}
	if !relaxation {
		for _, name := range c.relaxed {
			bad = append(bad, fmt.Sprintf("Field %s has changed mode from REQUIRED to NULLABLE", name))
		}
	}
	return bad
}
