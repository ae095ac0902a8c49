package kinds

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/config/shape"
	"github.com/reportferry/reportferry/config/strict"
)

// Drift says how final partitions are watched for numbers that change all the same.
type Drift struct {
	Days int  // days of final partitions that a run compares with the service's totals; 0: none
	Warn bool // partitions whose totals moved stay as they are
}

// String returns the value as the file has it.
func (w Drift) String() string {
	switch {
	case w.Warn:
		return "warn"
	case w.Days == 0:
		return "off"
	}
	return strconv.Itoa(w.Days) + "d"
}

// Raw says where the service's answers are kept as they came.
type Raw struct {
	URL      string // of a bucket; empty: nowhere
	KeepDays int    // 0: for ever
	Required bool   // a partition whose answer couldn't be kept fails
}

// Or returns a job's settings, with those of all jobs where it has none. A job that has a URL of
// its own gets none of them.
func (r Raw) Or(all Raw) Raw {
	if r.URL != "" {
		return r
	}
	return Raw{all.URL, cmp.Or(r.KeepDays, all.KeepDays), r.Required || all.Required}
}

// watchedDays is how many days of final partitions a run compares by default, so that all days of a
// year are compared within five nights.
const watchedDays = 90

// drift reads a number of days, or one of two words.
var drift = strict.Shape[Drift]{
	Read: func(d *strict.Decoder, n strict.Node, key string) (Drift, bool) {
		switch v, _ := d.Scalar(n); v {
		case "off":
			return Drift{}, true
		case "warn":
			return Drift{Days: watchedDays, Warn: true}, true
		}
		count, ok := shape.Days.Read(d, n, key)
		return Drift{Days: count}, ok
	},
	Schema: func() *jsonschema.Schema {
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{strict.OneOf("off", "warn").Schema(),
			shape.Days.Schema()}}
	},
}

// Reconcile says what happens when rows don't add up to the service's totals, and from which
// difference on.
type Reconcile struct {
	Then    string // warn, fail or off
	Cohorts Share  // by which share of a total the rows of a cohort metric may differ from it
}

var usualReconcile = Reconcile{Then: "warn", Cohorts: 0.02}

// String returns the value as the file has it.
func (r Reconcile) String() string {
	if r.Cohorts == usualReconcile.Cohorts {
		return r.Then
	}
	return fmt.Sprintf("{then: %s, cohorts: %s}", r.Then, r.Cohorts)
}

var reconcileWord = strict.OneOf("warn", "fail", "off")

var reconcileMapping = strict.ObjectOf(func(r *Reconcile) strict.Object {
	*r = usualReconcile
	return strict.Object{What: "reconcile", Fields: []strict.Field{
		strict.Optional("then", reconcileWord, &r.Then, "fail",
			"warn publishes the rows and ends the run with exit code 3, fail leaves the old rows, and off asks for "+
				"no totals."),
		strict.Optional("cohorts", shareOrNone, &r.Cohorts, "5%",
			"By which share of a total the rows of a cohort metric may differ from it, as those of small campaigns "+
				"do in the service. "+
				"A smaller difference is recorded, and the partition is reconciled. 0% allows none."),
	}}
})

// reconcile reads one of the words, or a mapping.
var reconcile = strict.Shape[Reconcile]{
	Read: func(d *strict.Decoder, n strict.Node, key string) (Reconcile, bool) {
		if v, _ := d.Scalar(n); v == nil {
			return reconcileMapping.Read(d, n, key)
		}
		word, ok := reconcileWord.Read(d, n, key)
		return Reconcile{Then: word, Cohorts: usualReconcile.Cohorts}, ok
	},
	Schema: func() *jsonschema.Schema {
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{reconcileWord.Schema(), reconcileMapping.Schema()}}
	},
}

// RawFields returns the keys of raw answers. They are at the top for all jobs of kind report, and
// in a job for this job alone. doc describes the URL.
func RawFields(r *Raw, doc string) []strict.Field {
	return []strict.Field{
		shape.Place("raw", shape.BucketURL, &r.URL, "gs://my-bucket/raw", doc),
		shape.DaysField("raw_keep", &r.KeepDays, "400d",
			"How long raw answers are kept. Without the key they stay for ever."),
		strict.Optional("raw_required", strict.Bool, &r.Required, "true",
			"Whether a partition fails whose raw answer couldn't be kept. By default it is published, and the run "+
				"ends with exit code 3."),
	}
}
