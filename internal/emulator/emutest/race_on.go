//go:build race

package emutest

// Slowdown is what the race detector costs SQLite, whose C became Go with nothing but memory
// accesses to watch.
const Slowdown = 20
