// Package conformance holds the emulated service to the interface document, line by line: its tests
// are written from the document alone, through the service's own address, and know nothing of the
// emulator's insides. Without it the emulator could agree with our client and not with what was
// agreed on.
//
// It is tests only. ../interface.md is the document, ../conformance.md names for each of its lines
// the tests that hold it, here and elsewhere; internal/house compares the two with the tests that
// there are.
package conformance
