package facts

import (
	"testing"
	"time"
)

// Days and hours before 1970 count down, and a part of one belongs to the earlier one.
func TestDaysBeforeAndAfter1970(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]int{{0, 24, 0}, {1, 24, 0}, {23, 24, 0}, {24, 24, 1}, {25, 24, 1}, {-1, 24, -1},
		{-24, 24, -1}, {-25, 24, -2}, {48, 24, 2}, {-48, 24, -2}} {
		if got := FloorDiv(c[0], c[1]); got != c[2] {
			t.Errorf("FloorDiv(%d, %d) is %d, want %d", c[0], c[1], got, c[2])
		}
	}
	for text, day := range map[string]int{"1970-01-01T00:00:00Z": 0, "1970-01-01T23:59:59Z": 0,
		"1970-01-02T00:00:00Z": 1, "1969-12-31T23:59:59Z": -1, "2026-03-14T12:00:00Z": 20526} {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		if got := DayOf(at); got != day || DayTime(day).Format(time.DateOnly) != text[:10] {
			t.Errorf("%s is day %d, want %d, which is %s", text, got, day, DayTime(day))
		}
	}
}
