package console

import (
	"slices"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/status"
)

// A state shows how something is, by the colour of its class, and by a glyph and a word for those
// who don't see colours.
type state struct {
	Class string // names the colour in the style
	Glyph string
	Text  string
}

// States of a job without problems, and of what failed or can't be read.
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

// conditions has the glyphs of conditions, and the classes of those that are no problem. Tests
// check that none is left out, and that no two look alike.
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

// state returns how a condition of the table's partitions is shown. Package status decides whether
// it is wrong.
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

// problem returns the index of a condition in the table's problems, or less than 0 when it is none
// of them.
func (l TableState) problem(c refresh.Condition) int {
	return slices.IndexFunc(l.Problems, func(p ledger.Problem) bool { return p.Condition == string(c) })
}
