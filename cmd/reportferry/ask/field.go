package ask

import (
	"fmt"
	"io"
	"strings"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/internal/catalog"
)

// writeWhole writes all that is known of one entry.
func (e fieldEntry) writeWhole(w io.Writer) {
	fmt.Fprintf(w, "%s, %s\n", e.Slug, withArticle(e.kind))
	row := func(label, content string) {
		if content != "" {
			text.Labeled(w, label, text.Fold(content, 66))
		}
	}
	row("what", e.label())
	if e.kind == eventKind {
		row("metrics", fmt.Sprintf("%[1]s_events, %[1]s_revenue and more: reportferry fields --search %[1]s_", e.Slug))
		row("in a job", fmt.Sprintf("events: [{slug: %s, metrics: [events, revenue]}]", e.Slug))
		return
	}
	row("type", e.Type.String())
	if e.IsMetric() {
		row("unit", e.Unit()+", "+catalog.Units()[e.Unit()])
		row("summed", map[string]string{
			"yes":           "yes: over all dimensions",
			"not over time": "not over time: over networks or countries only, because a user counts on each day",
			"no":            "no: adding up rows would give a wrong number",
		}[e.Summable()])
		row("dated by", e.datedBy())
		row("final", e.finalText())
		row("computed", e.Formula())
	}
	row("pattern", e.Pattern)
	for _, b := range catalog.Placeholders(e.Slug + e.Pattern) {
		row(b, catalog.Filling(b))
	}
	if len(catalog.Placeholders(e.Slug)) == 0 {
		row("ask for it", e.example())
	}
	switch {
	case e.mark() == "+":
		text := "the service, and not to the catalogue"
		if e.IsMetric() {
			text += ": a job names its type under types:"
		}
		row("known to", text)
	case e.unlisted && e.kind == eventMetricKind && !strings.HasPrefix(e.Slug, "{e}"):
		row("known to", "nobody: the account has no such event; reportferry events lists them")
	case e.unlisted:
		row("known to", "the catalogue; the service doesn't list it, and may take it all the same")
	case e.listed:
		row("known to", "the catalogue and the service")
	}
}

// example returns a command line that shows values of a field.
func (e fieldEntry) example() string {
	switch {
	case !e.IsMetric():
		return "reportferry report --dimensions " + e.Slug + " --metrics installs"
	case e.Unit() == "money":
		return "reportferry report --dimensions day --currency USD --metrics " + e.Slug
	}
	return "reportferry report --dimensions day --metrics " + e.Slug
}

// withArticle returns the word for a kind with a or an before it.
func withArticle(k fieldKind) string {
	if strings.HasPrefix(string(k), "e") {
		return "an " + string(k)
	}
	return "a " + string(k)
}

// label returns the service's label of a field. It leaves out the formula behind the label, and the
// {P} that a pattern's label has in the place of a period.
func (e fieldEntry) label() string {
	label, _, _ := strings.Cut(e.Description, " = ")
	return strings.NewReplacer("{P} ", "", "{E}", "{e}").Replace(label)
}

// datedBy says to which day a metric's value belongs.
func (e fieldEntry) datedBy() string {
	cohort := strings.Contains(e.Slug, "{p}")
	switch {
	case e.Horizon > 0:
		return fmt.Sprintf("the install; its period has passed %s after it", text.Plural(e.Horizon, "day"))
	case cohort, e.Accumulates, strings.Contains(e.Pattern, "{p}"):
		return "the install"
	case strings.Contains(e.Slug, "{m}"):
		return "as {m}"
	}
	return "the day on which it happened"
}

// finalText says when a value is final, in the words of Final. It adds the number of days in a
// report with the networks' own costs, where that is another.
func (e fieldEntry) finalText() string {
	text := e.Final(usualMode)
	if days, _ := e.FinalAfter(networkMode); e.Final(networkMode) != text {
		text += fmt.Sprintf("; %d where ad_spend_mode is network or mixed", days)
	}
	return text
}

// A describedField is an entry in the JSON output.
type describedField struct {
	Name        string    `json:"name"`
	Kind        fieldKind `json:"kind"`
	Description string    `json:"description"`
	Type        string    `json:"type,omitempty"`
	Unit        string    `json:"unit,omitempty"`
	Summable    string    `json:"summable,omitempty"`
	HorizonDays *int      `json:"horizon_days,omitempty"`
	FinalDays   *int      `json:"final_after_days,omitempty"`
	Final       string    `json:"final,omitempty"`
	Formula     string    `json:"formula,omitempty"`
	Pattern     string    `json:"pattern,omitempty"`
	KnownTo     []string  `json:"known_to"`
}

// writeFieldsJSON writes the entries as a list of objects. The numbers of days are left out for a
// pattern whose period or day isn't filled in, and final_after_days for a metric that is never
// final.
func writeFieldsJSON(w io.Writer, list []fieldEntry) error {
	out := []describedField{}
	for _, e := range list {
		d := describedField{Name: e.Slug, Kind: e.kind, Description: e.label(), KnownTo: []string{}}
		if e.inCatalogue {
			d.KnownTo = append(d.KnownTo, "catalogue")
		}
		if e.listed {
			d.KnownTo = append(d.KnownTo, "service")
		}
		if e.kind != eventKind {
			d.Type, d.Unit, d.Summable, d.Formula, d.Pattern = e.Type.String(), e.Unit(), e.Summable(), e.Formula(),
				e.Pattern
		}
		if days, ever := e.FinalAfter(usualMode); e.IsMetric() {
			d.Final = e.finalText()
			if open := e.datedBy() == "as {m}" || strings.Contains(e.Slug, "{p}"); !open {
				d.HorizonDays = &e.Horizon
				if ever {
					d.FinalDays = &days
				}
			}
		}
		out = append(out, d)
	}
	return text.JSON(w, out)
}
