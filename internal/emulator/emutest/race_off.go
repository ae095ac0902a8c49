//go:build !race

package emutest

// Slowdown is 1 without the race detector.
const Slowdown = 1
