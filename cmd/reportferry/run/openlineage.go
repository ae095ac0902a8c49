package run

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/url"
	"path"
	"strings"
	"time"
)

// The types of events.
const (
	eventStart    = "START"
	eventComplete = "COMPLETE"
	eventAbort    = "ABORT" // the run was stopped, and the next one resumes its work
	eventFail     = "FAIL"
)

// A lineageEvent is a run event (https://openlineage.io/spec/2-0-2/OpenLineage.json).
type lineageEvent struct {
	Type      string           `json:"eventType"`
	Time      time.Time        `json:"eventTime"`
	Run       lineageRun       `json:"run"`
	Job       lineageJob       `json:"job"`
	Inputs    []lineageDataset `json:"inputs"`
	Outputs   []lineageDataset `json:"outputs"`
	Producer  string           `json:"producer"`
	SchemaURL string           `json:"schemaURL"`
}

// A lineageRun identifies the execution that an event is about.
type lineageRun struct {
	ID     string         `json:"runId"`
	Facets map[string]any `json:"facets"`
}

// A lineageJob identifies what was executed.
type lineageJob struct {
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	Facets    map[string]any `json:"facets"`
}

// A lineageDataset is an input or output of a run.
type lineageDataset struct {
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	Facets    map[string]any `json:"facets"`
	Output    map[string]any `json:"outputFacets,omitempty"`
}

const (
	// lineageProducer identifies this program in events.
	lineageProducer = "https://github.com/reportferry/reportferry"
	// lineageSpec begins the URLs of OpenLineage's schemas.
	lineageSpec = "https://openlineage.io/spec/"
)

// lineageFacet returns fields as an OpenLineage facet, by adding its producer and the URL of its
// schema. version is the version and name of that schema, such as 1-2-0/SchemaDatasetFacet.
func lineageFacet(version string, fields map[string]any) map[string]any {
	_, name, _ := strings.Cut(version, "/")
	fields["_producer"], fields["_schemaURL"] = lineageProducer, lineageSpec+"facets/"+version+".json#/$defs/"+name
	return fields
}

// lineageRunID returns the ID of a job's part in a run: a UUID derived from both, so that a
// receiver recognizes an event that arrives twice. It has the form of version 8, which is for IDs
// of one's own making (https://www.rfc-editor.org/rfc/rfc9562#section-5.8).
func lineageRunID(id, job string) string {
	sum := sha256.Sum256([]byte(id + "\n" + job))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	text := hex.EncodeToString(sum[:16])
	return strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-")
}

// datasetPlace returns the namespace and name of a table in a sink, by OpenLineage's rules for
// names (https://openlineage.io/docs/spec/naming).
func datasetPlace(sink, table string) (namespace, name string) {
	at, err := url.Parse(sink)
	if err != nil {
		return "unknown", table
	}
	within := strings.Trim(path.Join(at.Path, table), "/")
	switch at.Scheme {
	case "bigquery":
		return "bigquery", strings.Join([]string{at.Host, strings.Trim(at.Path, "/"), table}, ".")
	case "postgres":
		database, schema, _ := strings.Cut(strings.Trim(at.Path, "/"), "/")
		return "postgres://" + net.JoinHostPort(at.Hostname(), cmp.Or(at.Port(), "5432")),
			strings.Join([]string{database, cmp.Or(schema, "public"), table}, ".")
	case "iceberg":
		// The rules have no line for Iceberg. Engines name a table within a catalog that they call
		// by a name of their own, as the URL does.
		return "iceberg://" + at.Host, strings.Trim(at.Path, "/") + "." + table
	case "file":
		return "file", path.Join(at.Host, at.Path, table)
	case "azblob":
		return "wasbs://" + at.Host, within
	}
	return at.Scheme + "://" + at.Host, within
}
