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
//   - A setting of a metric overrides those of its groups. A partner's own settings override those
//     of partner all, whatever metrics they are for. Where nothing is said, everything is shared.
//   - A later record keeps what earlier ones said, except for the metrics below a group that it
//     sets.
//   - sharing: disable overrides all settings; enable lifts it and leaves them as they are.
//   - A record that was taken in part (202) isn't sent again.
//   - A partner is the same one by name, by ID and as "name (ID)". It is sent as the file names it,
//     and the service decides whether it takes the name.
//   - A record with both of a device's IDs is about both: it is sent in order with the records of
//     either.
//   - A record may be sent again after a lost answer, before the device's next one: sending the
//     same choice twice changes nothing.
package sharing

import (
	"crypto/sha256"

	"github.com/cespare/xxhash/v2"

	"github.com/reportferry/reportferry/internal/catalog"
)

// A Choice is one checked record: what one device has chosen. A device with two IDs may have both
// in it.
type Choice struct {
	App      string // token
	IDFA     string // personal data, as GPSAdID: no log, error or object of the ledger may hold it
	GPSAdID  string
	Choice   string // enable, disable or empty
	Partners string // settings of partners as a JSON object; empty: none
	Options  string // granular options as a JSON object; empty: none
	Strange  bool   // a partner isn't known here; the service decides whether it is right
}

// IDs returns hashes that stand for the device in the app: records that have one of them in common
// are sent in order. The second is zero if the record has one ID. Upper and lower case of an ID
// give the same hash.
func (r Choice) IDs() (id, also [16]byte) {
	switch {
	case r.GPSAdID == "":
		return r.id(idfa, r.IDFA), also
	case r.IDFA == "":
		return r.id(gpsAdID, r.GPSAdID), also
	}
	return r.id(idfa, r.IDFA), r.id(gpsAdID, r.GPSAdID)
}

// id returns the hash of one of a device's IDs.
func (r Choice) id(kind field, device string) [16]byte {
	sum := sha256.Sum256([]byte(r.App + "\x00" + names[kind] + "\x00" + catalog.Fold(device)))
	return [16]byte(sum[:])
}

// Content returns a hash of what is sent. The device is in it only if there are two IDs: otherwise
// a record that gets its second ID would be taken for the one that was sent.
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

// values are the values of one row, as the file spells them.
type values [fields]string
