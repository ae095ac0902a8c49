package ledger

// A Control says how a partition's rows compare with the totals that the service itself gives.
type Control struct {
	State       ControlState `json:"state"`
	Why         string       `json:"why,omitempty"` // of Unchecked
	Differences []Difference `json:"differences,omitempty"`
}

// A ControlState is the outcome of a comparison with the service's totals.
type ControlState string

// The states.
const (
	Reconciled   ControlState = "reconciled"   // every metric that can be compared agrees
	Unreconciled ControlState = "unreconciled" // some differ, or the totals couldn't be had
	Unchecked    ControlState = "unchecked"    // nothing can be compared, or the config says not to
)

// A Difference is one metric of a partition whose total isn't the sum of the rows.
type Difference struct {
	Metric string `json:"metric"`          // the column
	Rows   string `json:"rows"`            // the sum over the rows, an exact decimal
	Total  string `json:"total"`           // what the service says, an exact decimal; empty: it has no row for the period
	Where  string `json:"where,omitempty"` // the place, as far as it was found: app_token abc123, network X
}
