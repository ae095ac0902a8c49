// Package emulator imitates the measurement service, and is small enough to run inside a test.
// Without it, nothing of reportferry could be shown to work offline, because every claim about
// paging, retries and money is checked against it.
//
// A Server is an http.Handler. It authenticates a request, finds the scripted fault that applies to
// it, and hands it to the part that answers:
//
//	                     ┌── /reports-service/*      report (with metrics) ──┐
//	request ── Server ───┼── /app-automation/*       apps ───────────────────┤
//	  token, limits,     ├── /cost                   spend ──────────────────┼── facts ── store (one SQLite file)
//	  fault script       ├── /third_party_sharing    sharing ────────────────┘
//	                     └── /_emulator/*            faults, clock, books: for tests, and callers on this machine only
//
// The account is made up from Options.Seed: the same seed gives the same numbers on every machine.
// The data's clock is Options.Now, which Shift moves; cohorts mature and spend is restated by it.
// The database is private and gone with the process, or the file Options.DB, which another process
// may open later.
//
// It shares no code with the service's client, and has formulas of its own, so that one misreading
// of the interface can't hide in both. The interface document is kept in interface.md;
// conformance/testdata/coverage.txt names the tests that check each of its lines. What no document
// says is guessed, always in the documented forms: the docs of the packages report, apps, spend and
// sharing have every guess, README.md the faults, and how to start the emulator as a server.
package emulator
