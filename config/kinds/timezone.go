package kinds

import (
	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/config/shape"
	"github.com/reportferry/reportferry/config/strict"
)

var (
	zoneNumber = strict.Expr(`^[0-9]{1,6}$`)
	zoneForm   = strict.Expr(`^[A-Za-z0-9_+/-]+$`)
)

// timezoneID reads a number that the service has for a zone (its documentation shows
// timezone_id=1), or an IANA name.
var timezoneID = strict.Shape[string]{
	Read: strict.Checked(strict.Word, func(d *strict.Decoder, n strict.Node, key, s string) bool {
		known := zoneNumber.MatchString(s) || zoneForm.MatchString(s) && shape.IsZone(s)
		if !known {
			d.Fail(n, "%s: want an IANA name such as Europe/Berlin, or the service's number of a zone, got %q", key, s)
		}
		return known
	}).Read,
	Schema: func() *jsonschema.Schema {
		return &jsonschema.Schema{Title: "an IANA name, or the service's number of a zone", AnyOf: []*jsonschema.Schema{
			{Type: "string", Pattern: zoneForm.String()}, strict.Whole(0, 999999).Schema(),
		}}
	},
}

// ZoneByName tells whether the report's days are those of an IANA zone, whose offsets are worked
// out, because the service isn't known to take names.
func (r *Report) ZoneByName() bool {
	return r.TimezoneID != "" && !zoneNumber.MatchString(r.TimezoneID)
}

// checkTimezone checks that the report's days have one meaning, which both the service and this
// process know.
func checkTimezone(d *strict.Decoder, j *Settings, at map[string]strict.Node) {
	r, n := j.Report, at["timezone_id"]
	if n == nil {
		return
	}
	if at["utc_offset"] != nil {
		d.Fail(n, "timezone_id: utc_offset stands here too, and each says where the report's days begin; keep one "+
			"of them")
		return
	}
	r.UTCOffset = ""
	named := r.ZoneByName()
	switch {
	case r.TimezoneID == "": // a mistake, which has been noted
	case named && at["zone"] == nil:
		j.Zone = r.TimezoneID
	case named && j.Zone != "" && j.Zone != r.TimezoneID:
		d.Fail(at["zone"], "zone: %s is not timezone_id %s; with timezone_id, zone says where the report's days "+
			"begin and end, "+
			"not only when the schedule fires: give both the same name, or leave zone out", j.Zone, r.TimezoneID)
	case !named && at["zone"] == nil:
		d.Fail(n, "timezone_id: %s is a number of the service's own, which doesn't say which zone it is; set zone: "+
			"to its IANA name, such as "+
			"Europe/Berlin: zone then says where the report's days begin and end, not only when the schedule fires",
			r.TimezoneID)
	}
}
