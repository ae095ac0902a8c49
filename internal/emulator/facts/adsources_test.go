package facts

import "testing"

func TestAdSharesOfAnAppAddUp(t *testing.T) {
	t.Parallel()
	for i := range 100 {
		sum := 0
		for n := range AdSources {
			sum += adShare(i, n)
		}
		if sum != Million {
			t.Fatalf("shares of app %d add up to %d", i, sum)
		}
	}
}
