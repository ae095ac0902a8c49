package kinds

import (
	"github.com/reportferry/reportferry/config/strict"
	"github.com/reportferry/reportferry/internal/catalog"
)

// Sharing is what a job of kind sharing pushes to the service's endpoint of third-party sharing.
type Sharing struct {
	Push
	Ignore        []string // columns of the files that aren't read
	Partners      []string // IDs or names of partners that settings may name beside the service's thirteen
	Settings      string   // how settings of partners are sent: object, or form_objects
	OnMalformedID string   // an ID that isn't a UUID: send, with a warning, or reject
	OnLate        string   // a record of a device that was in a file of a later day: reject, or send
}

// sharingFields are the fields of a record of sharing.
var sharingFields = []recordField{
	{"app_token", "Token of the app."},
	{"idfa", "Apple's advertising ID of the device. A record has this ID, or gps_adid, or both."},
	{"gps_adid", "Android's advertising ID of the device."},
	{"id_type", "What device_id is: idfa or gps_adid."},
	{"device_id", "The device's ID, where one column has both kinds."},
	{"sharing", "The choice for all partners: enable or disable."},
	{"partner_sharing_settings", "Settings of partners as JSON: {\"facebook\": {\"install\": false}}, or form " +
		"objects."},
	{"granular_third_party_sharing_options", "Options of groups as JSON: {\"google_dma\": {\"eea\": \"1\"}}."},
	{"partner", "Partner of a single setting, by name, ID or \"name (ID)\", in place of partner_sharing_settings."},
	{"metric", "Metric of the single setting."},
	{"value", "Value of the single setting: true shares the metric, false doesn't."},
}

// sharingKeys returns the keys of kind sharing.
func sharingKeys(j *Settings) strict.Object {
	s := &Sharing{Push: pushDefaults, Settings: "object", OnMalformedID: "send", OnLate: "reject"}
	s.MaxRejects.Share = 1 // one bad device doesn't hold back what the others have chosen
	j.Sharing = s
	return strict.Object{
		Fields: append(s.keys(record{
			fields: sharingFields, own: []string{"idfa", "gps_adid", "device_id"}, column: "{device_id: id}",
			constant: "{app_token: abc123def456}", checkConstants: checkSharingConstants,
			resend: "resend sends it again, and then the device's later ones; park leaves it and those for a person.",
		}),
			strict.Optional("ignore", strict.TextsOf(strict.Text), &s.Ignore, "[exported_at]",
				"Columns of the files that aren't read. Any other column that no field is taken from is a mistake."),
			strict.Optional("partners", strict.TextsOf(partnerName), &s.Partners, "['42', Some Network (43)]",
				"Names or IDs of partners, or both as name (ID), that are known beside the service's thirteen. "+
					"Others are sent, too, with a warning."),
			strict.Optional("settings", strict.OneOf("object", "form_objects"), &s.Settings, "form_objects",
				"How settings of partners are sent. object is one JSON object, as the service's SDKs send it, and "+
					"form_objects a list of objects with partnerName, key and value, as its page describes them. "+
					"Which of the two the service takes wasn't tried."),
			strict.Optional("on_malformed_id", strict.OneOf("send", "reject"), &s.OnMalformedID, "reject",
				"What happens to a record whose ID isn't 8-4-4-4-12 hexadecimal digits, as those of Apple and "+
					"Google are. send sends it with a warning."),
			strict.Optional("on_late", strict.OneOf("reject", "send"), &s.OnLate, "send",
				"What happens to a record of a device that a file of a later day had. send lets it replace newer "+
					"choices."),
		),
		Check: s.checkTwice,
	}
}

var partnerName = strict.Matching(strict.Expr(`^[^\s\x00-\x1f\x7f]([^\x00-\x1f\x7f]{0,126}[^\s\x00-\x1f\x7f])?$`),
	"a partner's name or ID, or both as name (ID), of up to 128 characters")

// checkSharingConstants refuses constants for which every record would be refused.
func checkSharingConstants(d *strict.Decoder, f map[string]string, at map[string]strict.Node) {
	for name, allowed := range map[string][2]string{"id_type": {"idfa", "gps_adid"}, "sharing": {"enable", "disable"},
		"value": {"true", "false"}} {
		if s := f[name]; s != "" && !catalog.SameWord(s, allowed[0]) && !catalog.SameWord(s, allowed[1]) {
			d.Fail(at[name], "constants: %s %q; allowed: %s, %s", name, s, allowed[0], allowed[1])
		}
	}
}
