package files

import (
	"strings"

	"github.com/reportferry/reportferry/jobs/outbox"
)

// Instead is what a person writes in the place of what isn't right, for the rejects file. right says of each field what may
// stand there, and of a row as a whole by the reason why it was refused.
func Instead(r outbox.Rejection, right map[string]string) string {
	switch {
	case strings.HasSuffix(r.Reason, "it may have been taken then"):
		return "nothing, if the service turns out to have it"
	case strings.HasPrefix(r.Reason, "the service took a part"):
		return "what the service's words name; the rest of the row has arrived, and may be sent again"
	case strings.HasPrefix(r.Reason, "the service "): // so begin the words of its answers
		return "what the service's words ask for; as it stands, the row would be refused again"
	case right[r.Reason] != "":
		return right[r.Reason]
	case r.Field != "":
		return right[r.Field]
	case strings.Contains(r.Reason, "JSON"), strings.Contains(r.Reason, "has a key"):
		return `one JSON object, such as {"name": "value"}, of the keys that the job names`
	case strings.Contains(r.Reason, "quote"):
		return `a quote inside of a cell twice, and one before and one after the whole cell: "so ""called"" spend"`
	case strings.Contains(r.Reason, "cells"):
		return "a cell under each name, empty where there is nothing to say; one that holds a separator stands in double quotes"
	}
	return ""
}
