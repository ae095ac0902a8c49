package apps

import (
	"cmp"
	"fmt"
	"sync"
)

// Fault makes a section of jobs fail, as a whole or with one of its items.
type Fault struct {
	App     string `json:"app,omitempty"` // token or store ID; "" is any
	Section string `json:"section"`
	Item    string `json:"item,omitempty"`   // the name that fails, the others are applied; "" is all of the section
	Detail  string `json:"detail,omitempty"` // what the job's result says, a default if empty
	Times   int    `json:"times,omitempty"`  // how many jobs it strikes; 0 is every one
}

// validate refuses a fault that could never strike.
func (f *Fault) validate() error {
	if _, ok := findSection(f.Section); !ok {
		return fmt.Errorf("section %q can't be migrated, so it can't fail", f.Section)
	}
	if f.Times < 0 {
		return fmt.Errorf("it strikes %d times", f.Times)
	}
	return nil
}

// jobScript holds the faults in force, and how many jobs each of them has struck.
type jobScript struct {
	mu     sync.Mutex
	faults []Fault
	struck []int
}

// set replaces the faults, and counting starts again.
func (j *jobScript) set(faults []Fault) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.faults, j.struck = append([]Fault(nil), faults...), make([]int, len(faults))
}

// next returns the fault that strikes a job's section, or nil.
func (j *jobScript) next(a *accountApp, section string) *Fault {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, f := range j.faults {
		if f.Section == section && (f.App == "" || f.App == a.Token || f.App == a.StoreID) &&
			(f.Times == 0 || j.struck[i] < f.Times) {
			j.struck[i]++
			f.Detail = cmp.Or(f.Detail, "The migration of this item has failed")
			return &f
		}
	}
	return nil
}

// SetFaults replaces what fails in jobs.
func (s *Service) SetFaults(list []Fault) error {
	for i := range list {
		if err := list[i].validate(); err != nil {
			return fmt.Errorf("fault %d: %w", i+1, err)
		}
	}
	s.jobs.set(list)
	return nil
}
