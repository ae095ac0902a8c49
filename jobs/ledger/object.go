package ledger

import (
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// checksum returns the xxHash of a text, as documents and IDs have it.
func checksum(b []byte) string { return fmt.Sprintf("%016x", xxhash.Sum64(b)) }

// A versionError says that an object has another version than this program reads.
type versionError struct{ version, reads int }

func (e *versionError) Error() string {
	return fmt.Sprintf("it is of version %d, and this program reads version %d", e.version, e.reads)
}

// A DamagedError says that a ledger object can't be trusted.
type DamagedError struct {
	Location string // where a person finds it
	Err      error
	Gone     bool   // the object is missing
	With     string // what must be deleted together with it, because one of them names the other
	Cost     string // what deleting it would do; empty: what it recorded counts as missing and is fetched again
	Lacks    string // what is lacking without an object that only reports; nothing is then fetched again
}

func (e *DamagedError) Error() string {
	var newer *versionError
	if errors.As(e.Err, &newer) && newer.version > newer.reads {
		return fmt.Sprintf("ledger: %s was written by a newer version of reportferry: %v; use that one; delete nothing",
			e.Location, e.Err)
	}
	if e.Cost != "" {
		return fmt.Sprintf("ledger: %s is damaged: %v; restore it from a copy; don't delete it: %s", e.Location, e.Err,
			e.Cost)
	}
	if e.Lacks != "" {
		return fmt.Sprintf("ledger: %s is damaged: %v; restore it from a copy, or, when there is none, delete it: %s",
			e.Location, e.Err, e.Lacks)
	}
	what, all := "damaged", "it"
	switch {
	case e.Gone:
		what, all = "gone", e.With+" too"
	case e.With != "":
		all += ", and " + e.With + " too"
	}
	return fmt.Sprintf("ledger: %s is %s: %v; restore it from a copy, or, when there is none, delete %s: what was "+
		"recorded there then counts as "+
		"missing and is fetched again", e.Location, what, e.Err, all)
}

func (e *DamagedError) Unwrap() error { return e.Err }
