package push

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/outbox/store"
)

var acceptedAt = time.Date(2026, 2, 1, 3, 0, 0, 0, time.UTC)

// A figure is compared as far as its decimals go; none is less, and so is one that may still come.
// What is more is a fault where the report is of the pushed network alone.
func TestSumsAreJudged(t *testing.T) {
	for _, c := range []struct {
		pushed                     int64 // in units of five decimals
		report                     string
		difference, share, verdict string
		now                        time.Duration // since it was accepted
		network                    bool
	}{
		{10_000_000, "100", "0", "0.0", isEqual, 0, false}, {10_000_000, "1962.763209", "1862.763209", "", isMore, 0,
			false},
		{10_000_000, "99.99", "-0.01", "0.0", differs, 48 * time.Hour, false},
		{10_000_000, "99.99", "-0.01", "0.0", isWaiting, 23 * time.Hour, false},
		{10_000_000, "", "-100", "-100.0", isWaiting, time.Hour, true},
		{10_000_000, "", "-100", "-100.0", differs, 24 * time.Hour, true},
		{10_000_000, "101", "1", "1.0", differs, time.Hour, true}, {1_234_567, "12.35", "0.00433", "0.0", isEqual,
			48 * time.Hour, true},
		{1_234_567, "12.34567", "0", "0.0", isEqual, 48 * time.Hour, false},
		{1_234_567, "12.345", "-0.00067", "0.0", differs, 48 * time.Hour, false},
		{1_234_567, "12", "-0.34567", "-2.8", isEqual, 48 * time.Hour, false},
		{150_000, "1", "-0.5", "-33.3", isEqual, 48 * time.Hour, false},
		{160_000, "1", "-0.6", "-37.5", differs, 48 * time.Hour, false},
		{0, "", "0", "", isEqual, 48 * time.Hour, true},
	} {
		b := balance{Report: c.report, Accepted: acceptedAt, amount: new(big.Rat)}
		b.add("a", 1, costOf("cpi", big.NewInt(c.pushed)))
		b.compare(acceptedAt.Add(c.now), 24*time.Hour, c.network)
		if b.Difference != c.difference || b.Share != c.share || b.Verdict != c.verdict ||
			(b.Until != nil) != (c.verdict == isWaiting) {
			t.Errorf("%d and %q after %v: %s, %s, %s; want %s, %s, %s", c.pushed, c.report, c.now, b.Difference,
				b.Share, b.Verdict, c.difference, c.share, c.verdict)
		}
	}
}

func sumOf(records, amount int64) store.Sum {
	return store.Sum{Records: records, Amount: big.NewInt(amount)}
}

// Sums of all files are added up, with their tags; one of an earlier version has none. The tag of
// which a report has nothing is found where it alone explains the difference. An amount of cpm
// counts a thousandth.
func TestTagsOfASum(t *testing.T) {
	files := []outbox.File{
		{Last: acceptedAt, Sums: map[string]store.Sum{
			"2026-01-31 cpi eur nightly": sumOf(40, 10_000_000), "2026-01-31 cpi eur the weekend": sumOf(2, 1_250_000),
			"2026-01-30 cpi eur nightly": sumOf(1, 1),
			"2026-01-31 cpm eur nightly": sumOf(3, 600_000),
		}},
		{Last: acceptedAt.Add(-time.Hour), Sums: map[string]store.Sum{"2026-01-31 cpi eur": sumOf(1, 50_000),
			"2026-01-31 cpi eur nightly": sumOf(1, 50_000)}},
	}
	day := civil.Date{Year: 2026, Month: 1, Day: 31}
	sums, err := pushedSums(files, day, day)
	if err != nil || len(sums) != 2 {
		t.Fatalf("%d sums, %v", len(sums), err)
	}
	for i, report := range []string{"101", "0.006"} {
		sums[i].Report = report
		sums[i].compare(acceptedAt.Add(48*time.Hour), 24*time.Hour, false)
	}
	var b strings.Builder
	if err := writeBalances(&b, sums); err != nil {
		t.Fatal(err)
	}
	want := `day         type  in   pushed  report  difference   share  verdict
2026-01-31  cpi   EUR   113.5     101       -12.5  -11.0%  differs
2026-01-31  cpm   EUR   0.006   0.006           0    0.0%  equal

2026-01-31 cpi EUR differs by -12.5. Reports know no tags; pushed for it were:
  tag              records  pushed
  nightly               41   100.5
  the weekend            2    12.5  as much as is missing
  (not on record)        1     0.5

2 sums: 1 equal, 1 differing
`
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", &b, want)
	}
	b.Reset()
	if err := balancesCSV(&b, sums); err != nil {
		t.Fatal(err)
	}
	want = `day,type,currency,records,pushed,report,difference,share,verdict,accepted,tags
2026-01-31,cpi,EUR,44,113.5,101,-12.5,-11.0,differs,2026-02-01T03:00:00Z,nightly: 100.5; the weekend: 12.5; (not on record): 0.5
2026-01-31,cpm,EUR,3,0.006,0.006,0,0.0,equal,2026-02-01T03:00:00Z,nightly: 0.006
`
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", &b, want)
	}
}
