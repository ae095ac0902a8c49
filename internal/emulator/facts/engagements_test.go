package facts

import (
	"strings"
	"testing"
	"time"
)

// A Cost ID is somebody's when every part of it is: its day has data and has come, its app is
// there, and its number is one that the day can have.
func TestEngagementsOfCostIDs(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	w := New(7, 3, DayOf(now)-5, Ordinary)
	seen := map[string]bool{}
	var first Engagement
	for e := range w.Engagements(now.AddDate(0, 0, -30), now.AddDate(0, 0, 30), 4, now) {
		if found, ok := w.FindEngagement(e.CostID, now); !ok || found.CostID != e.CostID || !found.Time.Equal(e.Time) ||
			found.Fact.ID != e.Fact.ID {
			t.Errorf("%s is %+v, %t", e.CostID, found, ok)
		}
		if seen[e.CostID] || e.Time.After(now) || DayOf(e.Time) < w.FirstDay || len(e.CostID) < 12 ||
			e.Network == "Organic" {
			t.Errorf("%+v", e)
		}
		if first.CostID == "" {
			first = e
		}
		seen[e.CostID] = true
	}
	if len(seen) < 3*5*4 {
		t.Errorf("%d engagements of three apps on five days and a half", len(seen))
	}
	parts := strings.Split(first.CostID, "-")
	for what, id := range map[string]string{
		"another beginning": "x" + first.CostID[1:],
		"a word alone":      "emu",
		"a part too few":    strings.Join(parts[:4], "-"),
		"a part too many":   first.CostID + "-0",
		"no date":           strings.Join([]string{"emu", "20261301", parts[2], parts[3], parts[4]}, "-"),
		"a day before data": strings.Join([]string{"emu", "20250101", parts[2], parts[3], parts[4]}, "-"),
		"a day to come":     strings.Join([]string{"emu", "20260401", parts[2], parts[3], parts[4]}, "-"),
		"no app's number":   strings.Join([]string{"emu", parts[1], "abc", parts[3], parts[4]}, "-"),
		"an app too many":   strings.Join([]string{"emu", parts[1], "003", parts[3], parts[4]}, "-"),
		"no number":         strings.Join([]string{"emu", parts[1], parts[2], "abcdefg", parts[4]}, "-"),
		"another number":    strings.Join([]string{"emu", parts[1], parts[2], "0000009", parts[4]}, "-"),
		"another check":     first.CostID[:len(first.CostID)-1] + "g",
	} {
		if e, ok := w.FindEngagement(id, now); ok {
			t.Errorf("%s: %s is %+v", what, id, e)
		}
	}
	// The number after the last one would have a check of its own, and is nobody's all the same.
	day := w.FirstDay
	if last, ok := w.engagementOf(&w.Account().Apps[0], 0, day, engagementsPerDay-1); ok {
		if _, found := w.FindEngagement(last.CostID, now); !found {
			t.Errorf("%s, the last of its day, is nobody's", last.CostID)
		}
		beyond, _ := w.engagementOf(&w.Account().Apps[0], 0, day, engagementsPerDay)
		if _, found := w.FindEngagement(beyond.CostID, now); found {
			t.Errorf("%s is somebody's", beyond.CostID)
		}
	} else {
		t.Error("a day without engagements")
	}
}

// Just after midnight today has next to none, and pages that make a file ask for two days: it is
// never empty.
func TestEngagementsAtMidnight(t *testing.T) {
	t.Parallel()
	for _, now := range []time.Time{time.Date(2026, 3, 2, 0, 0, 1, 0, time.UTC),
		time.Date(2026, 3, 2, 23, 59, 59, 0, time.UTC)} {
		w := New(7, 12, DayOf(now)-119, Ordinary)
		days := map[int]int{}
		for e := range w.Engagements(now.AddDate(0, 0, -1), now, 2, now) {
			days[DayOf(now)-DayOf(e.Time)]++
		}
		if days[1] < 12 || now.Hour() == 23 && days[0] < 12 {
			t.Errorf("at %s: engagements of today and yesterday are %v", now, days)
		}
	}
}
