package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/config/strict"
)

// A Parameter is a parameter of the service's reports that goes there as the config has it. Its one declaration makes the
// key of report jobs, its JSON Schema, the flag of the report command and the part of the table's fingerprint.
type Parameter struct {
	Name    string
	Example string   // a value as the file would spell it
	Doc     string   // whole sentences; the first one is the flag's help
	Allowed []string // what a value may be; none: any text
	List    bool     // takes several values
	Flag    bool     // takes true or false
	Default []string // none: not sent unless the config says something
}

// parameters lists the declarations. The values and defaults are those of the service's OpenAPI file of June 2024 and of its
// pages since. A parameter that is added later gets no default: it isn't sent then, and the fingerprints of existing tables,
// which lack it, stay as they are.
var parameters = []Parameter{
	{Name: "cohort_maturity", Example: "mature", Allowed: []string{"immature", "mature", "fully_mature"}, Default: []string{"immature"},
		Doc: "What is shown of cohorts that haven't reached their period. immature shows them as far as they are, mature shows 0, and fully_mature leaves them out. The service's newer documents lack fully_mature, so that it may refuse it."},
	{Name: "attribution_types", Example: "[click, impression]", Allowed: attributionTypes, List: true, Default: attributionTypes,
		Doc: "Kinds of engagement that count as the cause of an install."},
	{Name: "attribution_source", Example: "first", Allowed: []string{"dynamic", "first"}, Default: []string{"dynamic"},
		Doc: "Source that a reattributed user counts for. dynamic takes the latest source, first the one of the install."},
	{Name: "reattributed", Example: "'false'", Allowed: []string{"all", "true", "false"}, Default: []string{"all"},
		Doc: "Users that are counted. all counts everybody, true only reattributed users, false only the others."},
	{Name: "iap_revenue_mode", Example: "GROSS_70", Default: []string{"GROSS_100"},
		Allowed: []string{"GROSS_100", "GROSS_95", "GROSS_85", "GROSS_80", "GROSS_70", "GROSS_65", "GROSS_60", "GROSS_50"},
		Doc:     "Percentage of gross in-app revenue that is shown. The service's newer documents lack GROSS_50, so that it may refuse it."},
	{Name: "ad_spend_mode", Example: "mixed", Allowed: []string{"adjust", "network", "mixed"}, Default: []string{"adjust"},
		Doc: "Source of ad spend. adjust takes the spend that attribution reports, network the networks' own figures, and mixed the networks' figures where there are any."},
	{Name: "sandbox", Example: "true", Flag: true, Default: []string{"false"},
		Doc: "Whether sandbox data is reported in place of production data."},
	{Name: "os_names", Example: "[ios]", List: true,
		Doc: "Operating systems that are counted, such as ios. Without the key, all of them are."},
	{Name: "ad_revenue_sources", Example: "[AdMob]", List: true,
		Doc: "Sources of ad revenue that are counted, by their display names. Without the key, all of them are."},
}

var attributionTypes = []string{"click", "impression", "engaged_ad"}

// Parameters gives every declared parameter, in the order of their keys.
func Parameters() []Parameter { return slices.Clone(parameters) }

// DefaultParameters gives the values of a report that says nothing of its parameters, by name. Every parameter is there,
// also those without a default.
func DefaultParameters() map[string][]string {
	values := map[string][]string{}
	for _, p := range parameters {
		values[p.Name] = slices.Clone(p.Default)
	}
	return values
}

// Usage is the parameter in one line, for the help of a flag.
func (p Parameter) Usage() string {
	line, _, _ := strings.Cut(p.Doc, ".")
	line = strings.ToLower(line[:1]) + line[1:]
	if p.Allowed != nil {
		line += ": " + strings.Join(p.Allowed, ", ")
	}
	return line
}

// parameterFields are the keys that put the parameters' values into a map.
func parameterFields(into map[string][]string) []strict.Field {
	var fields []strict.Field
	for _, p := range parameters {
		fields = append(fields, strict.Field{
			Key: p.Name, Doc: p.Doc, Example: p.Example, Schema: p.schema,
			Read: func(d *strict.Decoder, n strict.Node) { into[p.Name] = p.read(d, n) },
			Now:  func() any { return p.now(into[p.Name]) },
		})
	}
	return fields
}

// shape is what one value of the parameter looks like.
func (p Parameter) shape() strict.Shape[string] {
	if p.Allowed == nil {
		return value
	}
	return strict.OneOf(p.Allowed...)
}

func (p Parameter) read(d *strict.Decoder, n strict.Node) []string {
	switch {
	case p.Flag:
		v, _ := strict.Bool.Read(d, n, p.Name)
		return []string{strconv.FormatBool(v)}
	case p.List:
		v, _ := strict.TextsOf(p.shape()).Read(d, n, p.Name)
		return v
	}
	v, _ := p.shape().Read(d, n, p.Name)
	return []string{v}
}

// now is what the parameter's values are in a file.
func (p Parameter) now(values []string) any {
	switch {
	case p.Flag:
		return strict.Plain(strings.Join(values, "") == "true")
	case p.List:
		return strict.Plain(values)
	}
	return strict.Plain(strings.Join(values, ""))
}

func (p Parameter) schema() *jsonschema.Schema {
	switch {
	case p.Flag:
		s := strict.Bool.Schema()
		s.Default = strings.Join(p.Default, "") == "true"
		return s
	case p.List:
		s := strict.TextsOf(p.shape()).Schema()
		s.Default = strict.Default(p.Default)
		return s
	}
	s := p.shape().Schema()
	s.Default = strict.Default(strings.Join(p.Default, ""))
	return s
}
