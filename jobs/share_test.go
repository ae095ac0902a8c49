package jobs

import (
	"fmt"
	"slices"
	"testing"
)

// Each task begins with a part of its own and then goes through all the rest, and the parts are what was planned, whatever the jobs
// have to do.
func TestShares(t *testing.T) {
	for _, sizes := range [][]int{{}, {0}, {1}, {0, 5, 0}, {12}, {3, 0, 0, 9, 1}, {1, 1, 1, 1, 1, 1, 1, 1}} {
		for _, count := range []int{0, 1, 3, 4, 40} {
			t.Run(fmt.Sprint(sizes, " by ", count), func(t *testing.T) {
				plans := make([]Planned, len(sizes))
				units := 0
				for i, n := range sizes {
					plans[i].Units = make([]Unit, n)
					units += n
				}
				whole := Share{}.turns(plans)
				own := map[turn]int{}
				for index := range max(1, count) {
					turns := Share{Index: index, Count: count}.turns(plans)
					began := false
					for _, at := range turns {
						if at.unit < 0 {
							continue
						}
						if at.shared {
							began = true
						} else if own[at]++; began {
							t.Errorf("task %d comes to its own %v after others'", index, at)
						}
					}
					for i := range turns {
						turns[i].shared = false
					}
					slices.SortFunc(turns, func(a, b turn) int { return (a.job-b.job)*1000 + a.unit - b.unit })
					if !slices.Equal(turns, whole) {
						t.Errorf("task %d takes %v, want all of %v", index, turns, whole)
					}
				}
				if len(own) != units {
					t.Errorf("%d of %d units are in a part", len(own), units)
				}
				for at, n := range own {
					if n != 1 {
						t.Errorf("%v is in %d parts", at, n)
					}
				}
			})
		}
	}
}
