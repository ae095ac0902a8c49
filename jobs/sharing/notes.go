package sharing

import (
	"github.com/reportferry/reportferry/jobs/outbox/files"
)

// malformed tells whether an ID that the record has isn't a UUID, as those of Apple and Google are
// (developer.apple.com, advertisingIdentifier; developer.android.com, AdvertisingIdClient.Info).
func (r Choice) malformed() bool {
	return r.IDFA != "" && !files.IsUUID(r.IDFA) || r.GPSAdID != "" && !files.IsUUID(r.GPSAdID)
}

// The indexes of warnings.
const (
	strange     = iota // a partner isn't known
	malformedID        // an ID isn't a UUID
)

// warnings say what is wrong with records that are sent all the same: log and note in a run's log,
// and reason in a check.
var warnings = [...]struct{ log, note, reason string }{
	strange: {
		"partners that aren't known",
		"sent as they are named, and the service judges; a name or an ID under partners of the job is known",
		"names a partner that isn't known here; it is sent as it is, and the service judges",
	},
	malformedID: {
		"IDs that don't have the form of an advertising ID",
		"sent as they are; with on_malformed_id: reject they are refused",
		noForm + "; it is sent as it is, unless the job says on_malformed_id: reject",
	},
}

// notes count the rows of a file by warning. The file is read twice.
type notes [len(warnings)]warnedRows

// A warnedRows counts the rows with one warning, and has the numbers of the first and the last one.
type warnedRows struct{ rows, first, last int64 }

// note counts a row if so is true, unless an earlier reading of the file has counted it.
func (n *warnedRows) note(row int64, so bool) {
	if !so || row <= n.last {
		return
	}
	if n.rows++; n.first == 0 {
		n.first = row
	}
	n.last = row
}
