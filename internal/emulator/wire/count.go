package wire

import (
	"maps"
	"sync"
)

// Counts are what an endpoint for records has answered.
type Counts struct {
	Statuses map[int]int    `json:"statuses"` // answers by status, those of scripted faults left out
	Refused  map[string]int `json:"refused"`  // refused records by reason, in fixed words
	Faulted  int            `json:"faulted"`  // answered by a scripted fault, and not taken
}

// A Counter makes Counts. Its zero value is ready for use.
type Counter struct {
	mu     sync.Mutex
	counts Counts
}

// Fault counts a request that a fault answered.
func (c *Counter) Fault() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.Faulted++
}

// Answer counts an answer, and the reason for which the record was refused, unless it is empty.
func (c *Counter) Answer(status int, refused string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts.Statuses == nil {
		c.counts.Statuses, c.counts.Refused = map[int]int{}, map[string]int{}
	}
	c.counts.Statuses[status]++
	if refused != "" {
		c.counts.Refused[refused]++
	}
}

// Counts returns a copy of what was counted until now.
func (c *Counter) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := Counts{Statuses: map[int]int{}, Refused: map[string]int{}, Faulted: c.counts.Faulted}
	maps.Copy(counts.Statuses, c.counts.Statuses)
	maps.Copy(counts.Refused, c.counts.Refused)
	return counts
}

// Clear sets all counts back to zero.
func (c *Counter) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts = Counts{}
}
