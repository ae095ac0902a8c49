//go:build !race

package emutest

const Slowdown = 1
