package emulator

import (
	"iter"
	"time"
)

// What the server's parts are asked about and tell, under the names of this package, so that whoever starts an emulator
// needs no other.
type (
	Engagement     = engagement
	Fault          = fault
	FaultKind      = faultKind
	JobFault       = jobFault
	ManagedApp     = managedApp
	SpendBooks     = spendBooks
	SpendRecord    = spendRecord
	SharingBooks   = sharingSummary
	SharingState   = sharingState
	SharingArrival = sharingArrival
)

// The kinds of faults, and the ways in which a report's columns drift. See Fault.
const (
	FaultStatus = faultStatus
	FaultSlow   = faultSlow
	FaultCut    = faultCut
	FaultReset  = faultReset
	FaultDrift  = faultDrift
	FaultHTML   = faultHTML
	FaultEmpty  = faultEmpty
	FaultLost   = faultLost

	DriftRename  = driftRename
	DriftMissing = driftMissing
	DriftExtra   = driftExtra
)

// SharingMetrics lists the metrics that sharing can be set for, sorted, without `all`.
func SharingMetrics() []string { return sharingMetricNames() }

// Apps lists the account's apps, so that a test can build what it expects.
func (s *Server) Apps() []App {
	out := make([]App, len(s.world.apps))
	for i, a := range s.world.apps {
		out[i] = a
		out[i].OSNames = append([]string(nil), a.OSNames...)
		out[i].Events = append([]AppEvent(nil), a.Events...)
	}
	return out
}

// Engagements lists the first perDay engagements of each app and day: days from's to to's by UTC, of those that have
// data, and nothing that is still to come. They are sorted by day, then app.
func (s *Server) Engagements(from, to time.Time, perDay int) iter.Seq[Engagement] {
	return s.world.engagements(from, to, perDay, s.now())
}

// Spend sums up what arrived at /cost. A kept file's earlier arrivals count, but for those that were refused.
func (s *Server) Spend() SpendBooks { return s.spend.summary() }

// SpendRecords lists every Cost ID that was taken, sorted.
func (s *Server) SpendRecords() []SpendRecord { return s.spend.records() }

// Sharing sums up what arrived at /third_party_sharing. A kept file's earlier arrivals count, but for those that were
// refused.
func (s *Server) Sharing() SharingBooks { return s.sharing.summary() }

// SharingOf is what holds for a device. idType is idfa or gps_adid; "" is the one that something was said of, idfa first.
func (s *Server) SharingOf(app, idType, device string) SharingState {
	return s.sharing.stateOf(app, idType, device)
}

// SharingLog hands out, in the order of taking, what /third_party_sharing took until now, as long as yield wants more.
func (s *Server) SharingLog(yield func(SharingArrival) bool) error {
	return s.sharing.arrivals(yield)
}

// ResetSharing forgets all devices, the log and the counts.
func (s *Server) ResetSharing() error { return s.sharing.reset() }

// ManagedApps lists the apps that app automation knows, oldest first.
func (s *Server) ManagedApps() ([]ManagedApp, error) { return s.apps.managedApps() }

// SetJobFaults replaces what fails in jobs. It panics on a fault that Options would refuse.
func (s *Server) SetJobFaults(list []JobFault) {
	if err := s.apps.setFaults(list); err != nil {
		panic("set job faults: " + err.Error())
	}
}

// AdvanceTickets makes jobs take so many steps, whatever the clock says: all that are open, or that of one ticket. It
// returns how many are still open then.
func (s *Server) AdvanceTickets(steps int, token string) (open int, err error) {
	return s.apps.advanceTickets(steps, token)
}
