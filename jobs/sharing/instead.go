package sharing

import (
	"strings"

	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/outbox/files"
)

// late is the reason for not sending a record that comes after newer ones of its device.
var late = outbox.Rejection{Reason: "comes after a file of a later day that has choices of the same device"}

// Reasons for refusing a row as a whole, and what several fields may have.
const (
	saysNothing = "says nothing: sharing, settings and options are all empty"
	noDevice    = "has no device: idfa, gps_adid and device_id are all empty"
	anyID       = "the device's ID: letters, digits, dots, dashes and underscores, at most 128"
)

// corrections says what may stand in a field, by the field's name, and what to write in a row that
// is refused as a whole, by the reason.
var corrections = map[string]string{
	names[appToken]:        "the app's token, as the service shows it",
	names[idfa]:            anyID,
	names[gpsAdID]:         anyID,
	names[deviceID]:        anyID + "; and none under idfa or gps_adid beside it",
	names[idType]:          "idfa or gps_adid",
	names[choice]:          "enable or disable",
	names[partnerSettings]: `a JSON object such as {"facebook": {"all": false}}, and nothing under partner, metric and value`,
	names[options]:         `a JSON object such as {"google_dma": {"eea": "1"}}`,
	names[partner]:         "the name or the ID of one partner, such as facebook",
	names[metric]:          "all, or one of " + strings.Join(Metrics, ", "),
	names[value]:           "true or false",
	saysNothing:            "enable or disable under sharing, or settings, or options",
	noForm:                 "the device's ID as its system has it, such as 38400000-8cf0-11bd-b23e-10b96e40000d",
	noDevice:               "the device's ID under idfa or gps_adid",
	late.Reason:            "nothing, if what was pushed last is right; on_late: send sends this row too",
}

// instead returns for the rejects file what a person may write in place of what isn't right.
func instead(r outbox.Rejection) string { return files.Instead(r, corrections) }
