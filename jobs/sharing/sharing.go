// Package sharing pushes devices' choices on third-party sharing to the service. Without it, a script that is restarted,
// or sends several records at once, would let an opt-out and the opt-in after it change places, and nobody would know.
//
//	file ─ files.Row ─ checker ─ Choice ─ outbox.Record (by a hash of the device) ─ adjust.Sharing ─ POST /third_party_sharing
//	                      └ files.Refusal: the rejects file
//
// A [Kind] plans one unit for its table, with all files that are due, in the order of their days: the outbox keeps the order of
// each device's records, over files and runs. The README beside this file has an example.
//
// The service's documents leave open, and are read here as follows:
//
//   - A setting of a metric goes over those of its groups; a partner's own settings go over those of partner all,
//     whatever they speak of; where nothing is said, all is shared.
//   - A later record keeps what earlier ones said, but for the metrics below a group that it sets.
//   - sharing: disable goes over all settings, and enable lifts it and leaves them as they are.
//   - A record that was taken in part (202) isn't sent again.
//   - A record may be sent again after a lost answer, before the device's next one: the same choice twice is the same.
package sharing

import (
	"crypto/sha256"

	"github.com/cespare/xxhash/v2"

	"github.com/reportferry/reportferry/internal/catalog"
)

// A Choice is what one device has chosen, checked: one record.
type Choice struct {
	App      string // token
	IDType   string // idfa or gps_adid
	Device   string // personal data: no log, error or object of the ledger may hold it
	Choice   string // enable, disable or empty
	Partners string // settings of partners as a JSON object; empty: none
	Options  string // granular options as a JSON object; empty: none
}

// ID stands for the device of the app: its records are sent in order. It doesn't know how an ID's letters are written.
func (r Choice) ID() (id [16]byte) {
	sum := sha256.Sum256([]byte(r.App + "\x00" + r.IDType + "\x00" + catalog.Fold(r.Device)))
	copy(id[:], sum[:])
	return id
}

// Content is a hash of what is sent beside the device.
func (r Choice) Content() uint64 {
	return xxhash.Sum64String(r.Choice + "\x00" + r.Partners + "\x00" + r.Options) // no value holds a NUL
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
var names = [fields]string{"app_token", "idfa", "gps_adid", "id_type", "device_id", "sharing", "partner_sharing_settings",
	"granular_third_party_sharing_options", "partner", "metric", "value"}

// values are those of one row, as the file spells them.
type values [fields]string
