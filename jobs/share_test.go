package jobs

import (
	"fmt"
	"testing"
	"time"
)

// Each unit of each job is in the part of one task, whatever else there is to do by then, and no
// task plans more jobs than it needs for its part.
func TestShares(t *testing.T) {
	for _, sizes := range [][]int{{1}, {0}, {0, 5, 0}, {12}, {3, 0, 0, 9, 1}, {1, 1, 1, 1, 1, 1, 1, 1}} {
		for _, count := range []int{0, 1, 3, 4, 40} {
			t.Run(fmt.Sprint(sizes, " by ", count), func(t *testing.T) {
				var list []Job
				units := 0
				for job, n := range sizes {
					var k planned
					for i := range n {
						k.Units = append(k.Units, Unit{Name: fmt.Sprint(job, "/", i), Number: i - 3})
					}
					list = append(list, Job{Name: fmt.Sprint(job), Kind: k})
					units += n
				}
				own := map[string]int{}
				fewest, most := units, 0
				for index := range max(1, count) {
					plans, jobs, mine := (Share{Index: index, Count: count}).Plan(t.Context(), NewBounds(1), list,
						time.Now()), 0, 0
					for _, p := range plans {
						if !p.Others {
							jobs++
						}
						for _, u := range p.Units {
							own[u.Name]++
							mine++
						}
					}
					fewest, most = min(fewest, mine), max(most, mine)
					if want := (len(sizes) + max(1, count) - 1) / max(1, count); jobs < 1 || jobs > want {
						t.Errorf("task %d plans %d jobs, want %d at most", index, jobs, want)
					}
				}
				if len(own) != units {
					t.Errorf("%d of %d units are in a part", len(own), units)
				}
				for name, n := range own {
					if n != 1 {
						t.Errorf("%v is in %d parts", name, n)
					}
				}
				if len(sizes) == 1 && most > fewest+1 {
					t.Errorf("tasks have %d to %d units of one job", fewest, most)
				}
			})
		}
	}
}
