package kinds

import (
	"github.com/reportferry/reportferry/config/shape"
	"github.com/reportferry/reportferry/config/strict"
)

// Events is what a job of kind events asks the service for: the events of the account, as they are
// on the run's date.
type Events struct {
	Apps   []string // app tokens; none: every app of the account
	Search string   // part of a name, or a whole slug; empty: every event
	Codec  string   // zstd, snappy or none
}

// eventsKeys returns the keys of kind events.
func eventsKeys(j *Settings) strict.Object {
	e := &Events{Codec: "zstd"}
	j.Events = e
	return strict.Object{Fields: []strict.Field{
		strict.Optional("apps", strict.TextsOf(shape.Value), &e.Apps, "[abc123def456]",
			"App tokens. Only events of these apps are fetched. Without the key, those of every app of the account "+
				"are."),
		strict.Optional("search", strict.Word, &e.Search, "purchase",
			"Part of a name, or a whole slug. Only such events are fetched."),
		strict.Optional("codec", shape.Codec, &e.Codec, "snappy", "Compression of the files."),
	}}
}
