//go:build race

package emulator

// slowdown is what the race detector costs SQLite, whose C became Go with nothing but memory accesses to watch.
const slowdown = 20
