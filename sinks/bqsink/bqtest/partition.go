package bqtest

import (
	"fmt"
	"strings"
	"time"

	bq "google.golang.org/api/bigquery/v2"
)

// partitionLayouts are the forms of partition IDs by granularity, as layouts of package time.
// https://cloud.google.com/bigquery/docs/partitioned-tables#partition_decorators
var partitionLayouts = map[string]string{"HOUR": "2006010215", "DAY": "20060102", "MONTH": "200601", "YEAR": "2006"}

// The partition of rows without a value in the partitioning column, and that of a table without
// partitions.
const (
	nullPartition  = "__NULL__"
	wholePartition = ""
)

// checkPartitioning checks whether a table with this schema can be partitioned so.
func checkPartitioning(p *bq.TimePartitioning, s *bq.TableSchema) *refusal {
	if p == nil {
		return nil
	}
	p.Type = strings.ToUpper(p.Type)
	if _, ok := partitionLayouts[p.Type]; !ok {
		return refuse("invalid", "Invalid time partitioning type \"%s\": HOUR, DAY, MONTH or YEAR", p.Type)
	}
	if p.ExpirationMs < 0 {
		return refuse("invalid", "Partition expiration of %d ms is negative", p.ExpirationMs)
	}
	if p.Field == "" {
		return nil // partitioned by the time of loading
	}
	f := fieldOf(s, p.Field)
	switch {
	case f == nil:
		return refuse("invalid", "The field specified for partitioning cannot be found in the schema. Invalid "+
			"field: %s.", p.Field)
	case f.Type != typeDate && f.Type != typeDateTime && f.Type != typeTimestamp:
		return refuse("invalid", "The field specified for partitioning must be of type DATE, TIMESTAMP or DATETIME. "+
			"Invalid field: %s of type %s", p.Field, f.Type)
	case f.Type == typeDate && p.Type == "HOUR":
		return refuse("invalid", "Cannot partition a DATE column by HOUR (field: %s)", p.Field)
	}
	return nil
}

// partitioningText describes a partitioning as BigQuery's messages do.
func partitioningText(p *bq.TimePartitioning) string {
	switch {
	case p == nil:
		return "none"
	case p.Field == "":
		return fmt.Sprintf("interval(type:%s)", strings.ToLower(p.Type))
	}
	return fmt.Sprintf("interval(type:%s,field:%s)", strings.ToLower(p.Type), p.Field)
}

// clusteringText describes a clustering as BigQuery's messages do.
func clusteringText(c *bq.Clustering) string {
	if c == nil {
		return "none"
	}
	return "clustering(" + strings.Join(c.Fields, ",") + ")"
}

// checkDecorator checks what follows the $ in a table's name: it must name one partition in the
// table's granularity.
func checkDecorator(ref *bq.TableReference, decorator string, p *bq.TimePartitioning) *refusal {
	if p == nil {
		return refuse("invalid", "Cannot address partition %s of table %s: the table is not partitioned", decorator,
			legacyName(ref))
	}
	if decorator == nullPartition && p.Field != "" {
		return nil
	}
	layout := partitionLayouts[p.Type]
	if at, err := time.Parse(layout, decorator); err != nil || at.Format(layout) != decorator {
		return refuse("invalid", "Invalid partition ID \"%s\" of table %s, which is partitioned by %s", decorator,
			legacyName(ref), p.Type)
	}
	return nil
}

// partitionOf returns the ID of the partition to which a value of the partitioning column belongs.
func partitionOf(p *bq.TimePartitioning, value any) (string, error) {
	switch v := value.(type) {
	case nil:
		return nullPartition, nil
	case int64:
		return time.UnixMicro(v).UTC().Format(partitionLayouts[p.Type]), nil
	case string:
		digits := strings.NewReplacer("-", "", "T", "").Replace(v)
		length := len(partitionLayouts[p.Type])
		if len(digits) < length {
			return "", fmt.Errorf("%q has no %s", v, p.Type)
		}
		return digits[:length], nil
	}
	return "", fmt.Errorf("a %T can't name a partition", value)
}

// splitDecorator splits table$20260101.
func splitDecorator(id string) (tableID, decorator string, has bool) {
	return strings.Cut(id, "$")
}
