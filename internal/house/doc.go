// Package house holds the repository to its own rules: who may import whom, package docs, file
// sizes, names, and one visible line for every kind and every sink. Without it the shape of the
// project would be a wish in a document, bent a little by every hurried change. It has tests only.
//
// The rules read the parsed files of the repository. `go list` would name the packages too, but the
// test cache doesn't see what another process reads, and would keep on answering for a tree that is
// gone.
package house
