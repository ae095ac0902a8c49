package wire

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// The silent faults: the answer is whole, well formed and 200, and says something else than the
// account holds. Fault.Of selects the answers that they change, except for hide_app, which changes
// all. drop_rows, double_rows and halve take Fault.Where and Fault.EveryRow.
const (
	FaultDropRows   FaultKind = "drop_rows"   // leave out rows
	FaultDoubleRows FaultKind = "double_rows" // write rows twice, one behind the other
	FaultHalve      FaultKind = "halve"       // halve the metric Column (default: the last column)
	FaultDropDay    FaultKind = "drop_day"    // leave out Fault.Day
	FaultCutRows    FaultKind = "cut_rows"    // end after Fault.Rows rows, as if there were no more
	FaultDropApp    FaultKind = "drop_app"    // leave out the app Fault.App, unless app_token__in names it
	// Show the app Fault.App nowhere, as to a user without access to it: neither in reports nor in
	// filters_data nor in events.
	FaultHideApp FaultKind = "hide_app"
)

// The values of Fault.Of: the answers that a silent fault changes.
const (
	OfRows   = "rows"   // reports with some dimension that isn't a date; the default
	OfTotals = "totals" // reports by dates alone
	OfAny    = "any"
)

// Silent reports whether the fault changes what a report says, and nothing else.
func (f *Fault) Silent() bool {
	if f == nil {
		return false
	}
	switch f.Kind {
	case FaultDropRows, FaultDoubleRows, FaultHalve, FaultDropDay, FaultCutRows, FaultDropApp, FaultHideApp:
		return true
	}
	return false
}

// Hidden returns the token of the app that the fault hides everywhere, or "" if it hides none.
func (f *Fault) Hidden() string {
	if f == nil || f.Kind != FaultHideApp {
		return ""
	}
	return f.App
}

// validateSilent checks the fields that only silent faults have.
func (f *Fault) validateSilent() error {
	if !f.Silent() {
		if f.Of != "" || f.Where != nil || f.EveryRow != 0 || f.Rows != 0 || f.Day != "" || f.App != "" {
			return fmt.Errorf("of, where, every_row, rows, day and app mean nothing to %s", f.Kind)
		}
		return nil
	}
	if !slices.Contains([]string{"", OfRows, OfTotals, OfAny}, f.Of) {
		return fmt.Errorf("of %q is not rows, totals or any", f.Of)
	}
	picks := f.Kind == FaultDropRows || f.Kind == FaultDoubleRows || f.Kind == FaultHalve
	_, noDay := time.Parse(time.DateOnly, f.Day)
	switch {
	case !picks && (f.Where != nil || f.EveryRow != 0):
		return fmt.Errorf("where and every_row mean nothing to %s", f.Kind)
	case f.Kind == FaultDropDay && noDay != nil:
		return fmt.Errorf("day %q is not of the form YYYY-MM-DD", f.Day)
	case (f.Kind == FaultDropApp || f.Kind == FaultHideApp) && f.App == "":
		return errors.New("app is missing: the token of the app to leave out")
	}
	return nil
}
