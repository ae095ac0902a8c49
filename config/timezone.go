package config

import (
	"github.com/goccy/go-yaml/ast"
	"github.com/invopop/jsonschema"
)

var (
	zoneNumber  = expr(`^[0-9]{1,6}$`)
	zonePattern = expr(`^[A-Za-z0-9_+/-]+$`)
)

// timezoneID is a zone as the service knows it: a number of its own (its documentation shows timezone_id=1), or an
// IANA name.
var timezoneID = shape[string]{
	func(d *decoder, n ast.Node, key string) (string, bool) {
		s, ok := d.word(n, key)
		if !ok {
			return "", false
		}
		if zoneNumber.MatchString(s) || zonePattern.MatchString(s) && isZone(s) {
			return s, true
		}
		d.fail(n, "%s: %q is no time zone; want an IANA name such as Europe/Berlin, or the service's number of a zone", key, s)
		return "", false
	},
	func() *jsonschema.Schema {
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
			{Type: "string", Pattern: zonePattern.String()}, whole(0, 999999).schema(),
		}}
	},
}

// checkTimezone sees that the report's days have one meaning, which both the service and this process know.
func (d *decoder) checkTimezone(j *Job, at map[string]ast.Node) {
	r, n := j.Report, at["timezone_id"]
	if n == nil {
		return
	}
	if at["utc_offset"] != nil {
		d.fail(n, "timezone_id: utc_offset stands here too, and each says where the report's days begin; keep one of them")
		return
	}
	r.UTCOffset = ""
	named := r.TimezoneID != "" && !zoneNumber.MatchString(r.TimezoneID)
	switch {
	case r.TimezoneID == "": // a mistake, noted already
	case named && at["zone"] == nil:
		j.Zone = r.TimezoneID
	case named && j.Zone != "" && j.Zone != r.TimezoneID:
		d.fail(at["zone"], "zone: %s is not timezone_id %s; with timezone_id, zone says where the report's days begin and end, "+
			"not only when the schedule fires: give both the same name, or leave zone out", j.Zone, r.TimezoneID)
	case !named && at["zone"] == nil:
		d.fail(n, "timezone_id: %s is a number of the service's own, which doesn't say which zone it is; set zone: to its IANA name, such as "+
			"Europe/Berlin: zone then says where the report's days begin and end, not only when the schedule fires", r.TimezoneID)
	}
}
