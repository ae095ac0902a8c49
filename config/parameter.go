package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/invopop/jsonschema"
)

// A Parameter is a parameter of the service's reports that goes there as the config has it. Its one declaration makes the
// key of report jobs, its JSON Schema, the flag of the report command and the part of the table's fingerprint.
type Parameter struct {
	Name    string
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
	{Name: "cohort_maturity", Allowed: []string{"immature", "mature", "fully_mature"}, Default: []string{"immature"},
		Doc: "What is shown of cohorts that haven't reached their period. immature shows them as far as they are, mature shows 0, and fully_mature leaves them out."},
	{Name: "attribution_types", Allowed: attributionTypes, List: true, Default: attributionTypes,
		Doc: "Kinds of engagement that count as the cause of an install."},
	{Name: "attribution_source", Allowed: []string{"dynamic", "first"}, Default: []string{"dynamic"},
		Doc: "Source that a reattributed user counts for. dynamic takes the latest source, first the one of the install."},
	{Name: "reattributed", Allowed: []string{"all", "true", "false"}, Default: []string{"all"},
		Doc: "Users that are counted. all counts everybody, true only reattributed users, false only the others."},
	{Name: "iap_revenue_mode", Default: []string{"GROSS_100"},
		Allowed: []string{"GROSS_100", "GROSS_95", "GROSS_85", "GROSS_80", "GROSS_70", "GROSS_65", "GROSS_60", "GROSS_50"},
		Doc:     "Percentage of gross in-app revenue that is shown."},
	{Name: "ad_spend_mode", Allowed: []string{"adjust", "network", "mixed"}, Default: []string{"adjust"},
		Doc: "Source of ad spend. adjust takes the spend that attribution reports, network the networks' own figures, and mixed the networks' figures where there are any."},
	{Name: "sandbox", Flag: true, Default: []string{"false"},
		Doc: "Whether sandbox data is reported in place of production data."},
	{Name: "os_names", List: true,
		Doc: "Operating systems that are counted, such as ios. Without the key, all of them are."},
	{Name: "ad_revenue_sources", List: true,
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
		line += ": " + joined(p.Allowed)
	}
	return line
}

func parameterFields(into map[string][]string) []field {
	var fields []field
	for _, p := range parameters {
		fields = append(fields, p.field(into))
	}
	return fields
}

// field is the key that puts the parameter's values into a map.
func (p Parameter) field(into map[string][]string) field {
	return field{
		key: p.Name, doc: p.Doc,
		read: func(d *decoder, n ast.Node) { into[p.Name] = p.read(d, n) },
		schema: func() *jsonschema.Schema {
			var s *jsonschema.Schema
			switch {
			case p.Flag:
				s = boolean.schema()
				s.Default = p.Default[0] == "true"
			case p.List:
				s = textsOf(p.value()).schema()
				s.Default = defaultOf(p.Default)
			default:
				s = p.value().schema()
				s.Default = p.Default[0]
			}
			return s
		},
	}
}

// value is what one value of the parameter looks like.
func (p Parameter) value() shape[string] {
	if p.Allowed == nil {
		return value
	}
	return oneOf(p.Allowed...)
}

func (p Parameter) read(d *decoder, n ast.Node) []string {
	switch {
	case p.Flag:
		v, _ := boolean.read(d, n, p.Name)
		return []string{strconv.FormatBool(v)}
	case p.List:
		v, _ := textsOf(p.value()).read(d, n, p.Name)
		return v
	}
	v, _ := p.value().read(d, n, p.Name)
	return []string{v}
}
