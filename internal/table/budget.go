package table

import "context"

// DefaultBudget is the memory, in bytes, in which rows wait to be written. Buffers, codecs and garbage come on top of it:
// BenchmarkWindow of internal/bench prints the peak of the process for one and for four answers at once.
const DefaultBudget = 40 << 20

// largestShare keeps the distinct texts of a row group within the 32-bit offsets of their dictionary.
const largestShare = 1 << 30

const (
	// fewestShares is the number of converters among which the budget is divided, even while fewer hold rows: a converter that
	// begins later must not find everything taken. When more hold rows, each one's share shrinks, and it writes row groups
	// until it fits at its next block.
	fewestShares = 2

	// mostOpen is the number of converters that may hold rows at once. Converting needs a core, so that more of them would not
	// be faster, and would write smaller row groups, having less memory each.
	mostOpen = 8
)

// A Budget is the memory that the converters of a process share for rows that wait to be written, and the number of seats
// that they share for converting.
type Budget struct {
	bytes int64
	seats chan struct{} // taken; one for each converter that holds rows
}

// NewBudget makes a budget of so many bytes. A budget of 0 still works: each converter then holds as little as it can.
func NewBudget(bytes int64) *Budget {
	return &Budget{bytes: bytes, seats: make(chan struct{}, mostOpen)}
}

// enter waits for a seat, or for the end of the context.
func (b *Budget) enter(ctx context.Context) error {
	select {
	case b.seats <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (b *Budget) leave() { <-b.seats }

// share is the memory, in bytes, that one converter may hold now.
func (b *Budget) share() int64 {
	return min(b.bytes/int64(max(fewestShares, len(b.seats))), largestShare)
}
