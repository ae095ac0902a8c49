package config

import (
	"github.com/goccy/go-yaml/ast"
	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/internal/catalog"
)

// Sharing is what a job of kind sharing pushes to the service's endpoint of third-party sharing.
type Sharing struct {
	Push
	Columns   map[string]string // field -> column of the files; one that isn't named has the column of its own name, where there is one
	Constants map[string]string // field -> its value in every record
	Ignore    []string          // columns of the files that no field is taken from
	Partners  []string          // IDs or names that settings may name beside the service's thirteen
	SendLate  bool              // records of a device that a file of a later day had are sent too; else they are rejected
}

// sharingFields are those of a record, and what an editor says of them.
var sharingFields = [][2]string{
	{"app_token", "Token of the app."},
	{"idfa", "Apple's advertising ID of the device. A record has one ID."},
	{"gps_adid", "Android's advertising ID of the device."},
	{"id_type", "idfa or gps_adid: what device_id is."},
	{"device_id", "The device's ID, where one column has both kinds."},
	{"sharing", "enable or disable: the choice for all partners."},
	{"partner_sharing_settings", "Settings of partners as JSON: {\"facebook\": {\"install\": false}}."},
	{"granular_third_party_sharing_options", "Options of groups as JSON: {\"google_dma\": {\"eea\": \"1\"}}."},
	{"partner", "Partner of a single setting, in place of partner_sharing_settings."},
	{"metric", "Its metric."},
	{"value", "true to share it, false not to."},
}

// sharingKeys are the keys of kind sharing.
func sharingKeys(j *Job) object {
	s := &Sharing{Push: pushDefaults}
	j.Sharing = s
	onLate := "reject"
	return object{
		fields: append(s.keys("because its answer was lost: resend it, and then the device's later ones, or park it for a person, and those with it."),
			optional("columns", textsByName("columns", sharingFields, text, nil), &s.Columns, "Column of the files that a record's field is taken from, when it isn't of the same name."),
			optional("constants", textsByName("constants", sharingFields, word, (*decoder).checkSharingConstants), &s.Constants,
				"Value of a field in every record, instead of a column."),
			optional("ignore", textsOf(text), &s.Ignore, "Columns of the files that aren't read. Any other that is no field's is a mistake."),
			optional("partners", textsOf(partnerName), &s.Partners, "IDs or names of partners that settings may name beside the service's thirteen."),
			optional("on_late", oneOf("reject", "send"), &onLate, "A record of a device that a file of a later day had: reject it, or send it, though it goes over newer ones."),
		),
		check: func(d *decoder, _ ast.Node, at map[string]ast.Node) {
			s.SendLate = onLate == "send"
			for name := range s.Columns {
				if s.Constants[name] != "" {
					d.fail(at["constants"], "constants: %s is taken from a column already", name)
				}
			}
		},
	}
}

var partnerName = matching(expr(`^[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$`), "is no partner's ID or name: want up to 64 letters, digits, blanks, dots, dashes and underscores")

// textsByName reads texts under the names of a list, and gives those that aren't empty; look checks them, with their
// places.
func textsByName(what string, fields [][2]string, s shape[string], look func(d *decoder, texts map[string]string, at map[string]ast.Node)) shape[map[string]string] {
	object := func(texts []string) object {
		o := object{what: what}
		for i, f := range fields {
			o.fields = append(o.fields, optional(f[0], s, &texts[i], f[1]))
		}
		return o
	}
	return shape[map[string]string]{
		func(d *decoder, n ast.Node, _ string) (map[string]string, bool) {
			texts, named := make([]string, len(fields)), map[string]string{}
			at := d.object(n, object(texts))
			for i, f := range fields {
				if texts[i] != "" {
					named[f[0]] = texts[i]
				}
			}
			if at != nil && look != nil {
				look(d, named, at)
			}
			return named, at != nil
		},
		func() *jsonschema.Schema { return object(make([]string, len(fields))).schema() },
	}
}

// checkSharingConstants finds what would be the reason to refuse every record.
func (d *decoder) checkSharingConstants(texts map[string]string, at map[string]ast.Node) {
	for _, name := range []string{"idfa", "gps_adid", "device_id"} {
		if at[name] != nil {
			d.fail(at[name], "constants: %s is another one in each record", name)
		}
	}
	for name, allowed := range map[string][2]string{"id_type": {"idfa", "gps_adid"}, "sharing": {"enable", "disable"}, "value": {"true", "false"}} {
		if s := texts[name]; s != "" && !catalog.SameWord(s, allowed[0]) && !catalog.SameWord(s, allowed[1]) {
			d.fail(at[name], "constants: %s %q; allowed: %s, %s", name, s, allowed[0], allowed[1])
		}
	}
}

// checkSharing makes the checks of sharing jobs that need the rest of the file.
func (d *decoder) checkSharing(c *Config, at map[string]ast.Node) {
	for _, j := range c.Jobs {
		if s := c.Service; j.Sharing != nil && at["service"] != nil && !s.Embedded && s.S2SURL == "" {
			d.fail(at["service"], "service: job %s pushes choices on sharing, so s2s_url is needed", j.Name)
		}
	}
}
