// Package conformance checks the emulated service against the interface document, line by line: its
// tests are written from the document alone, use the service's own address, and know nothing of the
// emulator's insides. Without it the emulator could agree with our client and not with the
// document.
//
// It has only tests. ../interface.md is the document. testdata/coverage.txt names, for each line of
// the document, the tests that check it, here and elsewhere; internal/house compares both files
// with the tests that exist.
package conformance
