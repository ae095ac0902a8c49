//go:build !race

package emutest

// Slowdown is 1, because the race detector is off.
const Slowdown = 1
