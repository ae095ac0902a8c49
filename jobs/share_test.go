package jobs

import (
	"fmt"
	"testing"
)

// Each unit of each job is in the part of one task, each task has its part of the jobs, and no task plans more of them than it needs
// for that.
func TestShares(t *testing.T) {
	for _, sizes := range [][]int{{1}, {0}, {0, 5, 0}, {12}, {3, 0, 0, 9, 1}, {1, 1, 1, 1, 1, 1, 1, 1}} {
		for _, count := range []int{0, 1, 3, 4, 40} {
			t.Run(fmt.Sprint(sizes, " by ", count), func(t *testing.T) {
				own := map[string]int{}
				units := 0
				for job, n := range sizes {
					units += n
					tasks := make([]task, n)
					for i := range tasks {
						tasks[i].unit.Name = fmt.Sprint(job, "/", i)
					}
					for index := range max(1, count) {
						s := Share{Index: index, Count: count}
						mine, others := s.split(job, len(sizes), tasks)
						if len(mine)+len(others) != n {
							t.Errorf("task %d has %d and %d of %d units", index, len(mine), len(others), n)
						}
						for _, u := range mine {
							own[u.unit.Name]++
						}
						if from, to := s.part(job, len(sizes)); len(mine) > 0 && from >= to {
							t.Errorf("task %d has units of job %d, which it doesn't plan", index, job)
						}
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
				for index := range max(1, count) {
					planned := 0
					for job := range sizes {
						if from, to := (Share{Index: index, Count: count}).part(job, len(sizes)); from < to {
							planned++
						}
					}
					if most := (len(sizes)+max(1, count)-1)/max(1, count) + 1; planned < 1 || planned > most {
						t.Errorf("task %d plans %d jobs, want %d at most", index, planned, most)
					}
				}
			})
		}
	}
}
