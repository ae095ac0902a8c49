package sharing

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/jobs/outbox/files"
)

// refuse returns the refusal of a row because of one field. It quotes nothing of the row.
func refuse(f field, reason string) *files.Refusal {
	return &files.Refusal{Field: names[f], Reason: reason}
}

// A checker makes records of rows.
type checker struct{ partners Partners }

// record checks a row and makes a record of it. The first field that isn't right is the reason for
// refusing it.
func (c checker) record(v *values) (r Choice, refused *files.Refusal) {
	if reason := whyNotToken(v[appToken], 64); reason != "" {
		return r, refuse(appToken, reason)
	}
	r.App = v[appToken]
	if refused := r.devices(v); refused != nil {
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
		sent, strange, err := c.partners.parseOptions(text)
		if err != nil {
			return r, refuse(options, err.Error())
		}
		r.Options, r.Strange = sent, r.Strange || strange
	}
	if r.Choice == "" && r.Partners == "" && r.Options == "" {
		return r, &files.Refusal{Reason: saysNothing}
	}
	return r, nil
}

// devices takes the IDs from the columns of their types, or one of them from device_id with
// id_type.
func (r *Choice) devices(v *values) *files.Refusal {
	r.IDFA, r.GPSAdID = v[idfa], v[gpsAdID]
	idfaAt, gpsAt := idfa, gpsAdID
	if v[deviceID] != "" {
		into := &r.IDFA
		switch v[idType] {
		case names[idfa]:
			idfaAt = deviceID
		case names[gpsAdID]:
			into, gpsAt = &r.GPSAdID, deviceID
		default:
			return refuse(idType, "is neither idfa nor gps_adid")
		}
		if *into != "" {
			return refuse(deviceID, "stands beside "+v[idType]+"; want one of the two")
		}
		*into = v[deviceID]
	}
	if r.IDFA+r.GPSAdID == "" {
		return &files.Refusal{Reason: noDevice}
	}
	if why := whyNotDevice(r.IDFA); why != "" {
		return refuse(idfaAt, why)
	}
	if why := whyNotDevice(r.GPSAdID); why != "" {
		return refuse(gpsAt, why)
	}
	return nil
}

// whyNotDevice returns the reason why a device can't have this ID, or "". An empty ID is right.
func whyNotDevice(id string) string {
	if id == "" {
		return ""
	}
	if reason := whyNotToken(id, 128); reason != "" {
		return reason
	}
	return files.NotID(id)
}

// settings takes the settings as a whole, or one of them from three columns.
func (c checker) settings(r *Choice, v *values) *files.Refusal {
	one := v[partner] != "" || v[metric] != "" || v[value] != ""
	switch {
	case one && v[partnerSettings] != "":
		return refuse(partnerSettings, "stands beside partner, metric and value; want one or the other")
	case v[partnerSettings] != "":
		s, strange, err := c.partners.ParseSettings(v[partnerSettings])
		if err != nil {
			return refuse(partnerSettings, err.Error())
		}
		r.Partners, r.Strange = jsonText(s), strange
		return nil
	case !one:
		return nil
	}
	named := strings.TrimSpace(v[partner])
	if why := whyNotPartner(named); why != "" {
		return refuse(partner, why)
	}
	switch {
	case v[metric] == "":
		return refuse(metric, isMissing)
	case !isMetric(v[metric]):
		return refuse(metric, "is none that is known")
	}
	on, ok := truth[catalog.Fold(v[value])]
	if !ok {
		return refuse(value, "is neither true nor false")
	}
	_, known := c.partners.Name(named)
	r.Partners, r.Strange = jsonText(Settings{named: {v[metric]: on}}), !known
	return nil
}

// Reasons that several checks give.
const (
	isMissing = "is missing"
	noForm    = "has an ID that isn't one of Apple or Google: theirs have 8-4-4-4-12 hexadecimal digits"
)

// whyNotToken returns the reason why s isn't a text of at most that many letters, digits, dots,
// dashes and underscores, or "".
func whyNotToken(s string, most int) string {
	if s == "" {
		return isMissing
	}
	if why := whyNotSent(s); why != "" {
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

// whyNotSent returns the reason why s can't be sent as it is, or "".
func whyNotSent(s string) string {
	if !utf8.ValidString(s) {
		return "is not UTF-8"
	}
	if i := strings.IndexFunc(s, unicode.IsControl); i >= 0 {
		return fmt.Sprintf("holds the control character %U", []rune(s[i:])[0])
	}
	return ""
}
