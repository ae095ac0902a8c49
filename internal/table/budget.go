package table

import "context"

// DefaultBudget is the memory, in bytes, that gathers rows before they are written. Pages, codecs and garbage come on top:
// BenchmarkWindow of internal/bench prints the peak of one and of four windows at once.
const DefaultBudget = 40 << 20

// largestShare keeps the texts of a row group within the 32 bits of their offsets.
const largestShare = 1 << 30

const (
	// fewestShares is the number of converters among which a budget is divided when fewer are open: a window that begins
	// later must not find that the first took everything. As more are open, each makes room at its next block.
	fewestShares = 2

	// mostOpen bounds the converters that are open at once. Many requests may be waiting for their answers; what is read
	// at once needs a core each, and more converters would only have less memory each and write smaller row groups.
	mostOpen = 8
)

// Budget is the memory that all open converters of a process share for rows, and pages of them, that wait for their row
// group.
type Budget struct {
	bytes int64
	seats chan struct{} // one for each open converter
}

// NewBudget makes a budget of so many bytes.
func NewBudget(bytes int64) *Budget {
	return &Budget{bytes: bytes, seats: make(chan struct{}, mostOpen)}
}

// enter waits for a seat.
func (b *Budget) enter(ctx context.Context) error {
	select {
	case b.seats <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (b *Budget) leave() { <-b.seats }

// share is what one converter may hold now.
func (b *Budget) share() int64 {
	return min(b.bytes/int64(max(fewestShares, len(b.seats))), largestShare)
}
