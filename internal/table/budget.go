package table

import "context"

// DefaultBudget is the memory, in bytes, in which rows wait to be written. Buffers, codecs and
// garbage come on top of it: BenchmarkWindow of internal/bench prints the peak of the process for
// one and for four answers at once. With more than two large answers at once, their newest rows and
// their dictionaries come on top, too: only these can't wait on the disk.
const DefaultBudget = 40 << 20

// largestWeight is the most that the rows of a converter may weigh, in bytes: the distinct texts of
// a column then stay within the 32-bit offsets of their table.
const largestWeight = 1 << 30

// mostOpen is the number of converters that may hold rows at once. Converting needs a core, so more
// of them wouldn't be faster, and each would have less memory.
const mostOpen = 8

// A Budget is the memory that the converters of a process share for rows that wait to be written,
// and the number of seats that they share for converting.
type Budget struct {
	bytes int64
	seats chan struct{} // taken; one for each converter that holds rows
}

// NewBudget returns a budget of so many bytes. A budget of 0 works, too: each converter then holds
// as little as it can.
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

// leave gives a seat back.
func (b *Budget) leave() { <-b.seats }

// weight returns the bytes that the rows of a converter may weigh before row groups are written:
// half of the budget, whatever the other converters hold, so that the same rows are always cut into
// the same row groups. When more than two converters weigh that much at once, pages wait on the
// disk.
func (b *Budget) weight() int64 { return min(b.bytes/2, largestWeight) }

// share returns the memory, in bytes, that one converter may hold now.
func (b *Budget) share() int64 { return b.bytes / int64(max(1, len(b.seats))) }
