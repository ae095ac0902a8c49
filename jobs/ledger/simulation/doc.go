// Package simulation runs whole processes of the engine against a store, clocks and a service that
// fail by a seed. Without it, nobody could look at the moment in which a suspended writer, a late
// put and a second process meet, nor see it again.
package simulation
