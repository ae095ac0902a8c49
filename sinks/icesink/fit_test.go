package icesink

import (
	"strings"
	"testing"

	"github.com/reportferry/reportferry/sinks"
)

// Names that readers of Iceberg have for themselves, or take for others, are refused without a
// catalog.
func TestFits(t *testing.T) {
	for column, refused := range map[string]string{
		"clicks": "", "_loaded_at": "", "_File": "Iceberg keeps that name to itself", "_partition": "keeps that name",
		"DAY": "columns day and DAY: two columns have that name",
	} {
		s := &sinks.Schema{Period: "day", On: "day", Columns: []sinks.Column{{Name: "day", Type: sinks.Date},
			{Name: column, Type: sinks.Int64}}}
		err := (&Sink{}).Fits("installs", s)
		if refused == "" && err != nil || refused != "" && (err == nil || !strings.Contains(err.Error(), refused)) {
			t.Errorf("%s: %v", column, err)
		}
	}
}
