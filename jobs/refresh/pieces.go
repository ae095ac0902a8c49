package refresh

import "cloud.google.com/go/civil"

// A Piece is a row of partitions that follow on one another.
type Piece struct {
	From       civil.Date `json:"from"`
	Through    civil.Date `json:"through"`
	Partitions int        `json:"partitions"`
}

// Pieces are the rows of a calendar, ascending. Gaps are in a calendar too, so that between two rows lie periods that nobody asks for:
// those between a backfill and Start, or those that no snapshot was taken of.
func Pieces(p Period, all []Entry) (list []Piece) {
	for i, e := range all {
		if i == 0 || p.Next(all[i-1].Partition) != e.Partition {
			list = append(list, Piece{From: e.Partition})
		}
		last := &list[len(list)-1]
		last.Through = e.Partition
		last.Partitions++
	}
	return list
}
