package table

import "sync/atomic"

// DefaultBudget is the memory, in bytes, that gathers rows before they are written. Pages, codecs and garbage come on top:
// BenchmarkWindow prints the peak of one and of four windows in flight.
const DefaultBudget = 40 << 20

// inFlight is the number of converters among which a budget is divided when fewer are open: a window that begins later
// must not find that the first took everything. As more are open, each makes room at its next block.
const inFlight = 2

// Budget is the memory that all open converters of a process share for rows, and pages of them, that wait for their row
// group.
type Budget struct {
	bytes int64
	open  atomic.Int64
}

// NewBudget makes a budget of so many bytes.
func NewBudget(bytes int64) *Budget {
	return &Budget{bytes: bytes}
}

// largestShare keeps the texts of a row group within the 32 bits of their offsets.
const largestShare = 1 << 30

// share is what one converter may hold now.
func (b *Budget) share() int64 { return min(b.bytes/max(inFlight, b.open.Load()), largestShare) }
