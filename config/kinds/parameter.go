package kinds

import (
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/config/shape"
	"github.com/reportferry/reportferry/config/strict"
)

// A Parameter is a parameter of the service's reports that is sent as the config has it. Its
// declaration here is the only one: the key of report jobs, its JSON Schema, the flag of the report
// command and the part of the table's fingerprint are made from it.
type Parameter struct {
	Name    string
	Example string   // a value as the file would spell it
	Doc     string   // whole sentences; the first one is the flag's help
	Allowed []string // what a value may be; none: any text
	List    bool     // takes several values
	Flag    bool     // takes true or false
	Default []string // what is sent when the config doesn't say; none: the parameter isn't sent then
}

// parameters lists the declarations. The values and defaults are those of the service's OpenAPI
// file of June 2024 and of its pages since. A parameter that is added later gets no default: it
// isn't sent then, and the fingerprints of existing tables, which lack it, stay as they are.
var parameters = []Parameter{
	{Name: "cohort_maturity", Example: "mature", Allowed: []string{"immature", "mature", "fully_mature"},
		Default: []string{"immature"},
		Doc: "What is shown of cohorts that haven't reached their period. immature shows them as far as they are, " +
			"mature shows 0, and fully_mature leaves them out. The service's newer documents lack fully_mature, so " +
			"that it may refuse it."},
	{Name: "attribution_types", Example: "[click, impression]", Allowed: attributionTypes, List: true,
		Default: attributionTypes,
		Doc:     "Kinds of engagement that count as the cause of an install."},
	{Name: "attribution_source", Example: "first", Allowed: []string{"dynamic", "first"}, Default: []string{"dynamic"},
		Doc: "Source that a reattributed user counts for. dynamic takes the latest source, first the one of the " +
			"install."},
	{Name: "reattributed", Example: "'false'", Allowed: []string{"all", "true", "false"}, Default: []string{"all"},
		Doc: "Users that are counted. true has only reattributed users, false only the others."},
	{Name: "iap_revenue_mode", Example: "GROSS_70", Default: []string{"GROSS_100"},
		Allowed: []string{"GROSS_100", "GROSS_95", "GROSS_85", "GROSS_80", "GROSS_70", "GROSS_65", "GROSS_60",
			"GROSS_50"},
		Doc: "Percentage of gross in-app revenue that is shown. The service's newer documents lack GROSS_50, so " +
			"that it may refuse it."},
	{Name: "ad_spend_mode", Example: "mixed", Allowed: []string{"adjust", "network", "mixed"},
		Default: []string{"adjust"},
		Doc: "Source of ad spend. adjust takes the spend that attribution reports, network the networks' own " +
			"figures, and mixed the networks' figures where there are any."},
	{Name: "sandbox", Example: "true", Flag: true, Default: []string{"false"},
		Doc: "Whether sandbox data is reported in place of production data."},
	{Name: "os_names", Example: "[ios]", List: true,
		Doc: "Operating systems that are counted, such as ios. Without the key, all of them are."},
	{Name: "ad_revenue_sources", Example: "[AdMob]", List: true,
		Doc: "Sources of ad revenue that are counted, by their display names. Without the key, all of them are."},
}

var attributionTypes = []string{"click", "impression", "engaged_ad"}

// Parameters returns every declared parameter, in the order of their keys.
func Parameters() []Parameter { return slices.Clone(parameters) }

// DefaultParameters returns the values, by name, of a report that sets no parameters. It includes
// parameters without a default.
func DefaultParameters() map[string][]string {
	values := map[string][]string{}
	for _, p := range parameters {
		values[p.Name] = slices.Clone(p.Default)
	}
	return values
}

// Usage describes the parameter in one line, for the help of a flag.
func (p Parameter) Usage() string {
	line, _, _ := strings.Cut(p.Doc, ".")
	line = strings.ToLower(line[:1]) + line[1:]
	if p.Allowed != nil {
		line += ": " + strings.Join(p.Allowed, ", ")
	}
	return line
}

// parameterFields returns the keys that put the parameters' values into a map.
func parameterFields(into map[string][]string) []strict.Field {
	var fields []strict.Field
	for _, p := range parameters {
		fields = append(fields, strict.Field{
			Key: p.Name, Doc: p.Doc, Example: p.Example, Schema: p.schema,
			Read: func(d *strict.Decoder, n strict.Node) { into[p.Name], _ = p.shape().Read(d, n, p.Name) },
			Now:  func() any { return strict.Plain(p.written(into[p.Name])) },
		})
	}
	return fields
}

// shape returns how the parameter's values are read.
func (p Parameter) shape() strict.Shape[[]string] {
	one := shape.Value
	if p.Allowed != nil {
		one = strict.OneOf(p.Allowed...)
	}
	switch {
	case p.Flag:
		return strict.As(strict.Bool, func(_ *strict.Decoder, _ strict.Node, _ string, v bool) ([]string, bool) {
			return []string{strconv.FormatBool(v)}, true
		})
	case p.List:
		return strict.TextsOf(one)
	}
	return strict.As(one, func(_ *strict.Decoder, _ strict.Node, _, v string) ([]string, bool) {
		return []string{v}, true
	})
}

// written returns the parameter's values as a file has them.
func (p Parameter) written(values []string) any {
	switch {
	case p.Flag:
		return strings.Join(values, "") == "true"
	case p.List:
		return values
	}
	return strings.Join(values, "")
}

// schema returns the JSON Schema of the parameter's values.
func (p Parameter) schema() *jsonschema.Schema {
	s := p.shape().Schema()
	s.Default = strict.Default(p.written(p.Default))
	return s
}
