package console

import (
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/status"
)

// A state is how something is, for the eye and the ear: a glyph and a word besides the colour of its class.
type state struct {
	Class string // names the colour in the style
	Glyph string
	Text  string
}

// The lights of a job, the worst first.
var (
	failing  = state{"bad", "✖", "failing"}
	late     = state{"bad", "◔", "late"}
	unsure   = state{"bad", "?", "unreadable"}
	changed  = state{"warn", "▲", "changed after final"}
	neverRun = state{"none", "·", "never run"}
	fresh    = state{"good", "✔", "fresh"}
)

// conditions are those of partitions. A test holds that none is left out.
var conditions = map[refresh.Condition]state{
	refresh.Running:      {"soft", "▶", "running"},
	refresh.Broken:       {"bad", "✖", "failed"},
	refresh.CutOff:       {"bad", "⚠", "interrupted"},
	refresh.Absent:       {"bad", "□", "missing"},
	refresh.Gone:         {"lost", "⊘", "can't be fetched any more"},
	refresh.Mixed:        {"bad", "◨", "other meaning"},
	refresh.HeldBack:     {"warn", "⊟", "held back"},
	refresh.DiffersAlike: {"warn", "≠", "differs, standing"},
	refresh.Differs:      {"warn", "≠", "unreconciled"},
	refresh.Suspicious:   {"warn", "∅", "suspected empty"},
	refresh.ChangedFinal: {"warn", "▲", "changed after final"},
	refresh.MovedAndLeft: {"warn", "△", "moved and left"},
	refresh.NotYet:       {"none", "·", "not due yet"},
	refresh.WithoutRows:  {"none", "∅", "empty"},
	refresh.Partial:      {"soft", "○", "partial"},
	refresh.Restating:    {"soft", "◐", "restating"},
	refresh.Final:        {"good", "●", "final"},

	status.Lacking: {"warn", "◫", "lacking columns"},
	status.Kept:    {"warn", "⊜", "kept"},
}

// stateOf gives the glyph and the word of a condition.
func stateOf(c refresh.Condition) state {
	if s, known := conditions[c]; known {
		return s
	}
	return state{"none", "?", string(c)}
}
