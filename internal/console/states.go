package console

import (
	"slices"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/status"
)

// A state is how something is, for the eye and the ear: a glyph and a word besides the colour of
// its class.
type state struct {
	Class string // names the colour in the style
	Glyph string
	Text  string
}

// The states of a job without problems, and of what failed or can't be read.
var (
	fresh    = state{"good", "✔", "fresh"}
	neverRun = state{"none", "·", "never run"}
	failed   = state{"bad", "✖", "failed"}
	unsure   = state{"bad", "?", "unreadable"}
)

// colours are the classes of partitions, with what they mean.
var colours = []struct{ Class, Means string }{
	{"bad", "Wrong"}, {"warn", "Good to know"}, {"soft", "May still change"}, {"good", "Final"},
	{"none", "Without rows"},
}

// conditions are the glyphs of conditions, and the classes of those that are no problem. Tests hold
// that none is left out, and that no two look alike.
var conditions = map[refresh.Condition]state{
	refresh.Running:      {Glyph: "▶", Class: "soft"},
	refresh.Broken:       {Glyph: failed.Glyph},
	refresh.CutOff:       {Glyph: "⚠"},
	refresh.Absent:       {Glyph: "□"},
	refresh.TooOld:       {Glyph: "⊖"},
	refresh.Gone:         {Glyph: "⊘"},
	refresh.Mixed:        {Glyph: "◨"},
	refresh.Deleted:      {Glyph: "⊗"},
	refresh.Replaced:     {Glyph: "⊠"},
	refresh.HeldBack:     {Glyph: "⊟"},
	refresh.DiffersAlike: {Glyph: "≢"},
	refresh.Differs:      {Glyph: "≠"},
	refresh.Suspicious:   {Glyph: "∅"},
	refresh.ChangedFinal: {Glyph: "▲"},
	refresh.MovedAndLeft: {Glyph: "△"},
	refresh.Expired:      {Glyph: "⌛"},
	refresh.NotYet:       {Glyph: "·", Class: "none"},
	refresh.WithoutRows:  {Glyph: "◌", Class: "none"},
	refresh.Partial:      {Glyph: "○", Class: "soft"},
	refresh.Restating:    {Glyph: "◐", Class: "soft"},
	refresh.Final:        {Glyph: "●", Class: "good"},

	status.RunFailed: {Glyph: failed.Glyph, Class: failed.Class},
	status.Lacking:   {Glyph: "◫"},
	status.Kept:      {Glyph: "⊜"},
	status.Near:      {Glyph: "≈"},
}

// state is that of a condition of the table's partitions. Whether it is wrong is for package status
// to say.
func (l TableState) state(c refresh.Condition) state {
	s, known := conditions[c]
	if s.Text = string(c); !known {
		s.Glyph, s.Class = "?", "none"
	}
	if at := l.problem(c); at >= 0 && l.Problems[at].Wrong {
		s.Class = "bad"
	} else if at >= 0 {
		s.Class = "warn"
	}
	return s
}

// problem is the place of a condition in the table's problems; less than 0: it is none.
func (l TableState) problem(c refresh.Condition) int {
	return slices.IndexFunc(l.Problems, func(p ledger.Problem) bool { return p.Condition == string(c) })
}
