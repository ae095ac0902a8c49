package transport

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A busyService works on some reports at a time. One more is refused after as long as an answer
// takes.
type busyService struct {
	mu                             sync.Mutex
	works, under, most, refused, n int
}

func (s *busyService) report(took time.Duration) *failure {
	s.mu.Lock()
	s.n++
	s.under++
	s.most = max(s.most, s.under)
	over := s.under > s.works
	if over {
		s.refused++
	}
	s.mu.Unlock()
	time.Sleep(took)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.under--
	if over {
		return &failure{status: http.StatusInternalServerError, slow: true, overload: true}
	}
	return nil
}

// However many reports a service works on, it gets three at first, then one more after each ten
// answers, and hardly any that it refuses.
func TestReportCap(t *testing.T) {
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, 1))
			s := &busyService{works: 1 + dice.IntN(12)}
			c := newReportCap(fewReports, UsualInFlight, Share{})
			var took []time.Duration
			const reports = 200
			for range reports {
				took = append(took, time.Duration(1+dice.IntN(10))*time.Second)
			}
			var wg sync.WaitGroup
			for _, d := range took {
				wg.Go(func() {
					for {
						p, err := c.enter(t.Context())
						if err != nil {
							t.Error(err)
							return
						}
						p.sent()
						f := s.report(d)
						p.leave(f)
						if f == nil {
							return
						}
					}
				})
			}
			wg.Wait()
			if s.most > min(UsualInFlight, max(s.works+1, fewReports)) {
				t.Errorf("seed %d: %d reports at once, the service works on %d", seed, s.most, s.works)
			}
			if limit := map[bool]int{true: 8, false: 2}[s.works < fewReports]; s.refused > limit {
				t.Errorf("seed %d: a service that works on %d at a time refuses %d of %d", seed, s.works, s.refused,
					s.n)
			}
			if want := min(UsualInFlight, s.works); c.limit < want && s.refused == 0 || c.limit > want ||
				c.inFlight != 0 || c.limit > c.maxLimit {
				t.Errorf("seed %d: after %d reports of a service that works on %d, %d may be under way, %d are", seed,
					s.n, s.works, c.limit, c.inFlight)
			}
		})
	}
}

// A query that is slow for itself takes no place for good: after 504s as many reports as at first
// are under way again.
func TestReportCapAfterSlowQueries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newReportCap(fewReports, UsualInFlight, Share{})
		var wg sync.WaitGroup
		var answers atomic.Int32
		for range 120 {
			wg.Go(func() {
				p, _ := c.enter(t.Context())
				p.sent()
				time.Sleep(time.Second)
				if i := answers.Add(1); i%7 == 0 && i < 60 {
					p.leave(&failure{status: http.StatusGatewayTimeout, slow: true})
				} else {
					p.leave(nil)
				}
			})
		}
		wg.Wait()
		if c.limit < fewReports {
			t.Errorf("%d may be under way", c.limit)
		}
	})
}

// What may be under way at first, and at most, is divided among the tasks; each may have one, in
// its turn where they are more.
func TestReportCapIsShared(t *testing.T) {
	for tasks := 1; tasks <= 20; tasks++ {
		now, most, turns := 0, 0, map[turn]int{}
		for i := range tasks {
			c := newReportCap(fewReports, UsualInFlight, Share{i, tasks})
			now, most = now+c.limit, most+c.maxLimit
			turns[c.turn]++
		}
		if now != max(fewReports, tasks) || most != max(UsualInFlight, tasks) {
			t.Errorf("%d tasks may have %d under way at first, and %d at most", tasks, now, most)
		}
		for one, n := range turns {
			if n > fewReports && tasks > fewReports || (one.count > 0) != (tasks > fewReports) {
				t.Errorf("of %d tasks %d have the turn %+v", tasks, n, one)
			}
		}
	}
}

// Tasks that are more than the reports of the account take turns: no more than twice as many are
// under way where one turn ends and another begins, and each task gets its turn.
func TestReportCapOfTasks(t *testing.T) {
	for _, tasks := range []int{2, 3, 4, 7, 20} {
		synctest.Test(t, func(t *testing.T) {
			s := &busyService{works: 1000}
			var wg sync.WaitGroup
			for i := range tasks {
				c := newReportCap(fewReports, UsualInFlight, Share{i, tasks})
				for range 3 {
					wg.Go(func() {
						p, err := c.enter(t.Context())
						if err != nil {
							t.Error(err)
							return
						}
						p.sent()
						p.leave(s.report(5 * time.Second))
					})
				}
			}
			wg.Wait()
			if s.n != 3*tasks || tasks <= fewReports && s.most > fewReports || s.most > 2*fewReports {
				t.Errorf("of %d tasks %d reports were done, %d at once", tasks, s.n, s.most)
			}
		})
	}
}
