// Package wire opens what the config names and makes jobs of its entries. Without it, every command would open the service,
// the ledger and the sinks in its own way, and close some of them never.
//
//	Program  what main knows: flags, environment, the lists of kinds and sinks
//	   │ Open
//	Engine   config, ledger, the service's client; opened once, shared by all runs of a process
//	   │ Session
//	Session  one run or one command: its ID, its spool folder, the sinks of its jobs
//	   │ Kinds[entry.Kind]
//	jobs.Job what the runner does
//
// A kind has one file here, which translates its entry of the config into its options, because kinds don't know the config.
package wire
