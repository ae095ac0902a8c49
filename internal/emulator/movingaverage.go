package emulator

import (
	"regexp"
	"strings"
)

// movingSlug is mavg_{window}_{metric}, or a bound of it with its confidence. How windows and confidences are written
// isn't documented; numbers are taken here.
var movingSlug = regexp.MustCompile(`^mavg_(?:(upper|lower|margin_of_error)_)?([0-9]{1,3})_(?:([0-9]{1,3})_)?(.+)$`)

// movingAverage reads the slug of a moving average. ok is false when it isn't one.
func (g *glossary) movingAverage(slug string) (c column, bad *serviceError, ok bool) {
	m := movingSlug.FindStringSubmatch(slug)
	if m == nil || m[1] != "" && m[3] == "" || strings.HasPrefix(m[4], "mavg_") {
		return c, nil, false
	}
	if m[1] == "" && m[3] != "" {
		m[4] = m[3] + "_" + m[4] // the metric of an event whose slug begins with a number
	}
	if c, bad = g.find(m[4]); bad != nil {
		return c, bad, true
	}
	def := *c.def
	def.kind, def.row, def.formula = decimal, "", c.def.slug
	def.label = "Moving Average of " + c.def.label + " (" + m[2] + ")"
	if m[1] == "margin_of_error" {
		def.formula = "0"
	}
	if m[1] != "" {
		def.label += ", " + strings.ReplaceAll(m[1], "_", " ") + " " + m[3] + "%"
	}
	c.slug, c.def = slug, &def
	return c, nil, true
}
