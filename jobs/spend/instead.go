package spend

import (
	"strings"

	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/outbox/files"
)

// conflict is why a record isn't sent: its Cost ID was sent with other content before.
var conflict = outbox.Rejection{Field: names[costID], Reason: "has other content in an earlier row or push"}

// corrections says what may be in each field, by the field's name, and what to write in a row that
// is refused as a whole, by the reason.
var corrections = map[string]string{
	names[costID]:       "the Cost ID that the click or impression was served with, of 12 to 256 characters",
	names[costType]:     strings.Join(types[:len(types)-1], ", ") + " or " + types[len(types)-1],
	names[costCurrency]: "a code of ISO 4217 such as EUR, or one that the job lists under currencies",
	names[costAmount]:   "a number such as 1.25, not below zero, of at most five decimals",
	names[tag]:          "a label of 1 to 128 characters",
	names[engagedAt]:    "a time such as 2026-01-31T08:30:00Z",
	conflict.Reason:     "nothing, if what was pushed first is right; on_conflict: send sends this row too",
}

// instead returns what a person may write in place of the refused value, for the rejects file.
func instead(r outbox.Rejection) string {
	if r.Field == names[engagedAt] && strings.HasSuffix(r.Reason, expired) {
		return "nothing: the service takes spend for seven days after the click or impression, and this row comes " +
			"too late"
	}
	return files.Instead(r, corrections)
}
