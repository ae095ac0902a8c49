package table

// This file and fuzz_test.go are all that is built with -tags fuzz: the fuzzer instruments whatever
// is linked, and takes minutes over arrow-go.

import (
	"context"
	"io"
	"testing"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
)

var (
	smallColumns = []Column{
		{Name: "day", Source: "day", Type: catalog.Day, Dimension: true},
		{Name: "campaign", Source: "campaign", Type: catalog.String, Dimension: true},
		{Name: "installs", Source: "installs", Type: catalog.Int64, Additive: true},
		{Name: "cost", Source: "cost", Type: catalog.Decimal, Additive: true},
		{Name: "rate", Source: "rate", Type: catalog.Double},
		{Name: "note", Source: "note", Type: catalog.String},
	}
	smallHeader = "day,campaign,installs,cost,rate,note\n"
	firstDay    = civil.Date{Year: 2026, Month: 1, Day: 1}
)

func smallOptions(t testing.TB) Options {
	return Options{Columns: smallColumns, Partitions: []civil.Date{firstDay, firstDay.AddDays(1)}, Dir: t.TempDir()}
}

const smallAnswer = "\ufeffcost,\"day\",campaign,note,installs,rate\r\n" +
	"1.5,2026-01-01,\"a, \"\"b\"\"\r\nc\",x,12.0,0.25\r\n" +
	",2026-01-02,,\"\",,\n" +
	"\"-0.0000005\",2026-01-02,汇量,\"a\nb\",-3,1e-3\n" +
	"2e3,2026-01-01,a\rb,\"\"\"\",4,0"

// convert reads answers and finishes.
func convert(o Options, answers ...io.Reader) ([]Part, error) {
	c, err := New(o)
	if err != nil {
		return nil, err
	}
	defer c.Abort()
	for _, r := range answers {
		if err := c.Read(context.Background(), r); err != nil {
			return nil, err
		}
	}
	return c.Finish()
}
