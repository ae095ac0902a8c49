//go:build glue

package icesink

import (
	"fmt"
	"net/url"
	"os"
	"testing"

	"github.com/reportferry/reportferry/sinks/sinktest"
)

// The suite on a fake of AWS Glue, moto, which .ci/glue starts. It doesn't hold an update against
// the version that the update is of, as Glue does, so that nothing is shown here of two processes.
func TestSuiteGlue(t *testing.T) {
	at := os.Getenv("SERVERS_GLUE")
	if at == "" {
		t.Fatal("SERVERS_GLUE names no server: run .ci/glue")
	}
	var places int
	open := func(t *testing.T) sinktest.RowFixture {
		places++
		q := url.Values{
			"type": {"glue"}, "glue.endpoint": {at}, "glue.region": {"us-east-1"}, "warehouse": {"s3://lake/warehouse"},
			"s3.endpoint": {at}, "s3.region": {"us-east-1"}, "s3.force-virtual-addressing": {"false"},
		}
		s := openURL(t, fmt.Sprintf("iceberg://glue/place_%d?%s", places, q.Encode()))
		return sinktest.RowFixture{Sink: s, Visible: func(t *testing.T) []sinktest.Row { return visible(t, s) }}
	}
	sinktest.RunRows(t, open)
	sinktest.RunRowConditions(t, open)
}
