// Package sharing pushes devices' choices on third-party sharing to the service. Without it, a
// script that is restarted, or sends several records at once, would let an opt-out and the opt-in
// after it change places, and nobody would know.
//
//	file ─ files.Row ─ checker ─ Choice ─ outbox.Record (by a hash of the device) ─ adjust.Sharing ─ POST /third_party_sharing
//	                      └ files.Refusal: the rejects file
//
// A [Kind] plans one unit for its table, with all files that are due, in the order of their days:
// the outbox keeps the order of each device's records, over files and runs. The README beside this
// file has an example.
//
// The service's documents leave open, and are read here as follows:
//
//   - A setting of a metric goes over those of its groups; a partner's own settings go over those of partner all,
//     whatever they speak of; where nothing is said, all is shared.
//   - A later record keeps what earlier ones said, but for the metrics below a group that it sets.
//   - sharing: disable goes over all settings, and enable lifts it and leaves them as they are.
//   - A record that was taken in part (202) isn't sent again.
//   - A partner is the same one by name, by ID and as "name (ID)". It is sent as the file names it; the service judges.
//   - A record with both of a device's IDs is about both: it keeps its place among the records of either.
//   - A record may be sent again after a lost answer, before the device's next one: the same choice twice is the same.
package sharing

import (
	"crypto/sha256"

	"github.com/cespare/xxhash/v2"

	"github.com/reportferry/reportferry/internal/catalog"
)

// A Choice is what one device has chosen, checked: one record. Of a device with two IDs, both may
// be there.
type Choice struct {
	App      string // token
	IDFA     string // personal data, as GPSAdID: no log, error or object of the ledger may hold it
	GPSAdID  string
	Choice   string // enable, disable or empty
	Partners string // settings of partners as a JSON object; empty: none
	Options  string // granular options as a JSON object; empty: none
	Strange  bool   // names a partner that isn't known here: the service will say
}

// IDs stand for the device of the app: records that have one of them in common are sent in order.
// The second is zero when the record has one ID. They don't know how an ID's letters are written.
func (r Choice) IDs() (id, also [16]byte) {
	switch {
	case r.GPSAdID == "":
		return r.id(idfa, r.IDFA), also
	case r.IDFA == "":
		return r.id(gpsAdID, r.GPSAdID), also
	}
	return r.id(idfa, r.IDFA), r.id(gpsAdID, r.GPSAdID)
}

func (r Choice) id(kind field, device string) [16]byte {
	sum := sha256.Sum256([]byte(r.App + "\x00" + names[kind] + "\x00" + catalog.Fold(device)))
	return [16]byte(sum[:])
}

// Content is a hash of what is sent. The device is in it only where there are two IDs: else a
// record that gets its second one would be taken for the one that was sent.
func (r Choice) Content() uint64 {
	text := r.Choice + "\x00" + r.Partners + "\x00" + r.Options // no value holds a NUL
	if id, also := r.IDs(); also != [16]byte{} {
		text += "\x00" + string(id[:]) + string(also[:])
	}
	return xxhash.Sum64String(text)
}

// A field is one value of a record, by its place in a row.
type field int

const (
	appToken field = iota
	idfa
	gpsAdID
	idType
	deviceID
	choice
	partnerSettings
	options
	partner
	metric
	value
	fields // how many there are
)

// names are the fields' names in a config, and those of the service's interface where it has them.
var names = [fields]string{"app_token", "idfa", "gps_adid", "id_type", "device_id", "sharing",
	"partner_sharing_settings",
	"granular_third_party_sharing_options", "partner", "metric", "value"}

// values are those of one row, as the file spells them.
type values [fields]string
