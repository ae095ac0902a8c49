package pgsink

import (
	"strings"
	"testing"

	"github.com/reportferry/reportferry/sinks"
)

// Names that Postgres would cut, or has itself, are refused without a server.
func TestFits(t *testing.T) {
	for _, c := range []struct {
		table, column string
		partitioned   bool
		refused       string
	}{
		{"installs", "clicks", false, ""},
		{strings.Repeat("t", 63), strings.Repeat("c", 63), false, ""},
		{strings.Repeat("t", 64), "clicks", false, "a name has at most 63 bytes in Postgres"},
		{"installs", strings.Repeat("c", 64), false, "names of at most 63 bytes, and this one has 64"},
		{strings.Repeat("t", 54), "clicks", true, ""},
		{strings.Repeat("t", 55), "clicks", true, "the name of a partition"},
		{sinks.Derived("_reportferry_partitions", strings.Repeat("t", 63)), "clicks", false, ""}, // it is cut
		{"installs", "xmin", false, "Postgres has a column of that name in each table"},
		{"installs", "tableoid", false, "in each table"},
		{"installs", "Day", false, "columns day and Day: two columns have that name"},
	} {
		s := &sinks.Schema{Period: "day", On: "day", Partitioned: c.partitioned,
			Columns: []sinks.Column{{Name: "day", Type: sinks.Date}, {Name: c.column, Type: sinks.Int64}}}
		err := (&Sink{}).Fits(c.table, s)
		if c.refused == "" && err != nil || c.refused != "" &&
			(err == nil || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
