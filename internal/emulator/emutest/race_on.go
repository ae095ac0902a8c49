//go:build race

package emutest

// Slowdown is how many times slower SQLite is under the race detector. Its C code was translated to
// Go, and does almost nothing but access memory, which the detector watches.
const Slowdown = 20
