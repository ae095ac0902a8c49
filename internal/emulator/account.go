package emulator

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/apps"
	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/reading"
	"github.com/reportferry/reportferry/internal/emulator/report"
	"github.com/reportferry/reportferry/internal/emulator/sharing"
	"github.com/reportferry/reportferry/internal/emulator/spend"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// These are types of the emulator's parts. They have names here, so that whoever starts an emulator
// needs no other package.
type (
	// Engagement is a click or an impression that partners can post spend for.
	Engagement = facts.Engagement
	// Fault is one line of a fault script.
	Fault = wire.Fault
	// FaultKind says what a Fault does.
	FaultKind = wire.FaultKind
	// JobFault makes a section of app automation's jobs fail.
	JobFault = apps.Fault
	// ManagedApp is an app that was made or updated through app automation.
	ManagedApp = apps.Managed
	// SpendSummary is what arrived at /cost.
	SpendSummary = spend.Summary
	// SpendRecord is one Cost ID with what was sent of it last.
	SpendRecord = spend.Record
	// SharingSummary is what arrived at /third_party_sharing.
	SharingSummary = sharing.Summary
	// SharingState says what is shared of a device.
	SharingState = sharing.State
	// ReadingTopic is a thing that the interface document leaves open, with the ways in which a
	// service may do it.
	ReadingTopic = reading.Topic
	// Movement is a number that changed at a moment of the emulator's clock.
	Movement = report.Movement
	// SharingArrival is a request that /third_party_sharing took.
	SharingArrival = sharing.Arrival
)

// The kinds of faults, the answers that silent ones are in, and the ways in which a report's
// columns drift. See Fault.
const (
	FaultStatus = wire.FaultStatus
	FaultSlow   = wire.FaultSlow
	FaultCut    = wire.FaultCut
	FaultReset  = wire.FaultReset
	FaultDrift  = wire.FaultDrift
	FaultHTML   = wire.FaultHTML
	FaultEmpty  = wire.FaultEmpty
	FaultLost   = wire.FaultLost

	FaultDropRows   = wire.FaultDropRows
	FaultDoubleRows = wire.FaultDoubleRows
	FaultHalve      = wire.FaultHalve
	FaultDropDay    = wire.FaultDropDay
	FaultCutRows    = wire.FaultCutRows
	FaultDropApp    = wire.FaultDropApp
	FaultHideApp    = wire.FaultHideApp

	OfRows   = wire.OfRows
	OfTotals = wire.OfTotals
	OfAny    = wire.OfAny

	DriftRename  = wire.DriftRename
	DriftMissing = wire.DriftMissing
	DriftExtra   = wire.DriftExtra
)

// ReadingTopics lists what Options.Readings can choose.
func ReadingTopics() []ReadingTopic { return reading.Topics() }

// ReadingRows returns how many rows it takes, each a value of Options.Readings, until every two
// readings of different topics are together in a row.
func ReadingRows() int { return reading.Rows() }

// ReadingRow returns one of these rows; row 0 has all defaults.
func ReadingRow(n int) []string { return reading.Row(n) }

// Apps lists the account's apps, with those that app automation made at the end, so that a test can
// build what it expects.
func (s *Server) Apps() []facts.App {
	apps := s.world.Account().Apps
	out := make([]facts.App, len(apps))
	for i, a := range apps {
		out[i] = a
		out[i].OSNames = append([]string(nil), a.OSNames...)
		out[i].Events = append([]facts.AppEvent(nil), a.Events...)
	}
	return out
}

// RenameEvent gives an event another name in all of its apps, and so another slug; its tokens and
// numbers stay. An empty name archives it.
func (s *Server) RenameEvent(slug, name string) error {
	return s.world.Change(context.Background(), func(e *facts.Edit) error { return e.RenameEvent(slug, name) })
}

// Engagements lists the first perDay engagements of each app and day, for the UTC days of from to
// to that have data. It leaves out those that are in the future. They are sorted by day, then app.
func (s *Server) Engagements(from, to time.Time, perDay int) iter.Seq[Engagement] {
	return s.world.Engagements(from, to, perDay, s.now())
}

// WriteEngagements writes engagements as CSV, from which files of spend are made, until ctx ends.
func WriteEngagements(ctx context.Context, out io.Writer, list iter.Seq[Engagement]) error {
	w := csv.NewWriter(out)
	err := w.Write([]string{"cost_id", "app", "campaign", "time"})
	for e := range list {
		if err != nil || ctx.Err() != nil {
			break
		}
		err = w.Write([]string{e.CostID, e.App, e.Campaign, e.Time.Format(time.RFC3339)})
	}
	w.Flush()
	return errors.Join(err, w.Error(), ctx.Err())
}

// Spend sums up what arrived at /cost. That includes earlier arrivals in a kept file, except those
// that were refused.
func (s *Server) Spend() SpendSummary { return s.spend.Summary() }

// SpendRecords lists every Cost ID that was taken, sorted.
func (s *Server) SpendRecords() []SpendRecord { return s.spend.Records() }

// Sharing sums up what arrived at /third_party_sharing. That includes earlier arrivals in a kept
// file, except those that were refused.
func (s *Server) Sharing() SharingSummary { return s.sharing.Summary() }

// SharingOf returns what is shared of a device. idType is idfa or gps_adid; "" stands for the one
// under which the device is known, idfa first.
func (s *Server) SharingOf(app, idType, device string) SharingState {
	return s.sharing.StateOf(app, idType, device)
}

// SharingLog calls yield with each request that /third_party_sharing has taken, in this order, as
// long as yield returns true.
func (s *Server) SharingLog(yield func(SharingArrival) bool) error {
	return s.sharing.Arrivals(yield)
}

// ResetSharing forgets all devices, the log and the counts.
func (s *Server) ResetSharing() error { return s.sharing.Reset() }

// ManagedApps lists the apps that app automation knows, oldest first.
func (s *Server) ManagedApps() ([]ManagedApp, error) { return s.apps.ManagedApps() }

// SetJobFaults replaces what fails in jobs. It panics on a fault that Options would refuse.
func (s *Server) SetJobFaults(list []JobFault) {
	if err := s.apps.SetFaults(list); err != nil {
		panic("set job faults: " + err.Error())
	}
}

// AdvanceTickets makes jobs take so many steps, whatever the clock says: all open jobs, or that of
// one ticket. It returns how many are still open afterwards.
func (s *Server) AdvanceTickets(steps int, token string) (open int, err error) {
	return s.apps.AdvanceTickets(steps, token)
}
