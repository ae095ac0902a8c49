package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/reportferry/reportferry/config/kinds"
	"github.com/reportferry/reportferry/config/strict"
)

// kindNames returns the names of all kinds, in the order of kinds.All.
func kindNames() []string {
	names := make([]string, len(kinds.All))
	for i, k := range kinds.All {
		names[i] = k.Name
	}
	return names
}

var kindName = strict.OneOf(kindNames()...)

// kindOf returns the kind that a job names. It returns false when there is no such kind, which is
// reported when the key is read.
func kindOf(d *strict.Decoder, n strict.Node) (kinds.Kind, bool) {
	if !d.IsMapping(n) {
		return kinds.Kind{}, false
	}
	entries, _ := d.Entries(n, "a job")
	for _, e := range entries {
		v, _ := d.Scalar(e.Value)
		if i := slices.IndexFunc(kinds.All, func(k kinds.Kind) bool { return v == k.Name }); i >= 0 && e.Key == "kind" {
			return kinds.All[i], true
		}
	}
	return kinds.Kind{}, false
}

// jobObject describes the keys of a job of one kind: those of every job, and those of the kind. A
// key that only another kind has is refused with the name of that kind.
func jobObject(j *Job, k kinds.Kind) strict.Object {
	o := k.Keys(&j.Settings)
	o.What = "a job"
	common := slices.DeleteFunc(jobFields(j), func(f strict.Field) bool { return k.Without[f.Key] != "" })
	o.Fields = append(common, o.Fields...)
	refused := maps.Clone(otherJobKeys) // looked up only for keys that the kind doesn't have
	for _, other := range kinds.All {
		for _, f := range other.Keys(new(kinds.Settings)).Fields {
			if refused[f.Key] == "" {
				refused[f.Key] = fmt.Sprintf("a job of kind %s has no such key; it belongs to kind %s", k.Name,
					other.Name)
			}
		}
	}
	maps.Copy(refused, k.Without)
	maps.Copy(refused, o.Refused)
	o.Refused = refused
	return o
}

// anyJob describes the keys of a job of unknown kind: the keys of all kinds are allowed, and none
// of these is required or read.
func anyJob(j *Job) strict.Object {
	o := strict.Object{What: "a job", Like: "{name: campaigns_daily, kind: report}", Fields: jobFields(j),
		Unknown: func(key string) string {
			return cmp.Or(kinds.ReportRefused()[key], otherJobKeys[key], kinds.ColumnKey(key))
		}}
	for _, k := range kinds.All {
		for _, f := range k.Keys(new(kinds.Settings)).Fields {
			if !slices.ContainsFunc(o.Fields, func(g strict.Field) bool { return g.Key == f.Key }) {
				o.Fields = append(o.Fields, strict.Field{Key: f.Key, Read: func(*strict.Decoder, strict.Node) {}})
			}
		}
	}
	return o
}
