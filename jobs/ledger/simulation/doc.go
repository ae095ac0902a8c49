// Package simulation runs whole processes of the engine against a store, clocks and a service whose
// failures are determined by a seed. Without it, the moment in which a suspended writer, a late put
// and a second process meet could be neither examined nor repeated.
package simulation
