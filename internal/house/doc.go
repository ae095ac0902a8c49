// Package house has tests only, which check the repository's own rules: which package may import
// which, package docs, file sizes, names, and that every kind and every sink is registered by a
// line of its own. Without it the rules would stand in a document, and be broken bit by bit.
//
// The tests parse the repository's files themselves. `go list` could list the packages, but Go's
// test cache doesn't track files that another process reads, and would repeat the result of an
// older tree.
package house
