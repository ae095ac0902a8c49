package sharing

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/jobs/outbox/files"
)

// refuse refuses a row for one field. It quotes nothing of the row.
func refuse(f field, reason string) *files.Refusal {
	return &files.Refusal{Field: names[f], Reason: reason}
}

// A checker makes records of rows.
type checker struct{ partners Partners }

// record checks a row; the first field that isn't right is the reason.
func (c checker) record(v *values) (r Choice, refused *files.Refusal) {
	if reason := token(v[appToken], 64); reason != "" {
		return r, refuse(appToken, reason)
	}
	r.App = v[appToken]
	if refused := r.device(v); refused != nil {
		return r, refused
	}
	switch r.Choice = catalog.Fold(v[choice]); r.Choice {
	case "", "enable", "disable":
	default:
		return r, refuse(choice, "is neither enable nor disable")
	}
	if refused := c.settings(&r, v); refused != nil {
		return r, refused
	}
	if text := v[options]; text != "" {
		var err error
		if r.Options, err = c.partners.parseOptions(text); err != nil {
			return r, refuse(options, err.Error())
		}
	}
	if r.Choice == "" && r.Partners == "" && r.Options == "" {
		return r, &files.Refusal{Reason: "says nothing: sharing, settings and options are all empty"}
	}
	return r, nil
}

// device takes the ID from the column of its type, or from device_id with id_type.
func (r *Choice) device(v *values) *files.Refusal {
	at := deviceID
	r.IDType, r.Device = v[idType], v[deviceID]
	switch [...]bool{v[idfa] != "", v[gpsAdID] != "", v[deviceID] != ""} {
	case [...]bool{true, false, false}:
		at, r.IDType, r.Device = idfa, names[idfa], v[idfa]
	case [...]bool{false, true, false}:
		at, r.IDType, r.Device = gpsAdID, names[gpsAdID], v[gpsAdID]
	case [...]bool{false, false, true}:
	case [...]bool{false, false, false}:
		return &files.Refusal{Reason: "has no device: idfa, gps_adid and device_id are all empty"}
	default:
		return &files.Refusal{Reason: "has several devices; give each a row of its own, for each has an order of its own"}
	}
	if r.IDType != names[idfa] && r.IDType != names[gpsAdID] {
		return refuse(idType, "is neither idfa nor gps_adid")
	}
	reason := token(r.Device, 128)
	if reason == "" && strings.Trim(r.Device, "0-") == "" {
		reason = "is all zeros, as of every device that hides its ID"
	}
	if reason != "" {
		return refuse(at, reason)
	}
	return nil
}

// settings takes the settings as a whole, or one of them from three columns.
func (c checker) settings(r *Choice, v *values) *files.Refusal {
	one := v[partner] != "" || v[metric] != "" || v[value] != ""
	switch {
	case one && v[partnerSettings] != "":
		return refuse(partnerSettings, "stands beside partner, metric and value; want one or the other")
	case v[partnerSettings] != "":
		s, err := c.partners.ParseSettings(v[partnerSettings])
		if err != nil {
			return refuse(partnerSettings, err.Error())
		}
		r.Partners = jsonText(s)
		return nil
	case !one:
		return nil
	}
	switch {
	case v[partner] == "":
		return refuse(partner, isMissing)
	case c.partners.known[v[partner]] == "":
		return refuse(partner, "is none that is known; is it missing under partners?")
	case v[metric] == "":
		return refuse(metric, isMissing)
	case !isMetric(v[metric]):
		return refuse(metric, "is none that is known")
	}
	on, ok := map[string]bool{"true": true, "false": false}[catalog.Fold(v[value])]
	if !ok {
		return refuse(value, "is neither true nor false")
	}
	r.Partners = jsonText(Settings{v[partner]: {v[metric]: on}})
	return nil
}

const isMissing = "is missing"

// token gives the reason why s isn't a text of letters, digits, dots, dashes and underscores.
func token(s string, most int) string {
	if s == "" {
		return isMissing
	}
	if why := printable(s); why != "" {
		return why
	}
	for _, r := range s {
		if r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(".-_", r) {
			return "holds something else than letters, digits, dots, dashes and underscores"
		}
	}
	if len(s) > most {
		return fmt.Sprintf("has %d characters; at most %d", len(s), most)
	}
	return ""
}

// printable gives the reason why s can't be sent as it is.
func printable(s string) string {
	if !utf8.ValidString(s) {
		return "is not UTF-8"
	}
	if i := strings.IndexFunc(s, unicode.IsControl); i >= 0 {
		return fmt.Sprintf("holds the control character %U", []rune(s[i:])[0])
	}
	return ""
}
