package table

import "context"

// DefaultBudget is the memory, in bytes, in which rows wait to be written. Buffers, codecs and
// garbage come on top of it: BenchmarkWindow of internal/bench prints the peak of the process for
// one and for four answers at once. So do the newest rows and the dictionaries of more than two
// large answers at once, the only ones that can't wait on the disk.
const DefaultBudget = 40 << 20

// largestWeight keeps the distinct texts of a column within the 32-bit offsets of their table.
const largestWeight = 1 << 30

// mostOpen is the number of converters that may hold rows at once. Converting needs a core, so that
// more of them would not be faster, and would have less memory each.
const mostOpen = 8

// A Budget is the memory that the converters of a process share for rows that wait to be written,
// and the number of seats that they share for converting.
type Budget struct {
	bytes int64
	seats chan struct{} // taken; one for each converter that holds rows
}

// NewBudget makes a budget of so many bytes. A budget of 0 still works: each converter then holds
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

func (b *Budget) leave() { <-b.seats }

// weight is how much the rows of a converter may weigh before row groups are written: half of the
// budget, whatever the other converters hold, so that the same rows are cut into the same row
// groups. When more than two are as heavy at once, pages wait on the disk.
func (b *Budget) weight() int64 { return min(b.bytes/2, largestWeight) }

// share is the memory, in bytes, that one converter may hold now.
func (b *Budget) share() int64 { return b.bytes / int64(max(1, len(b.seats))) }
