//go:build !race

package emulator

const slowdown = 1
