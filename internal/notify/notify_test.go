package notify

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/bucket/buckettest"
	"github.com/reportferry/reportferry/jobs/ledger"
)

var rounds = flag.Int("n", 10, "incidents that eight tasks meet at the same time")

// An ear is a receiver that keeps what it is told.
type ear struct {
	Receiver
	mu   sync.Mutex
	got  []Message
	fail error
}

func newEar(name string) *ear {
	e := &ear{Receiver: Receiver{Name: name}}
	e.Send = func(_ context.Context, m Message) error {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.fail == nil {
			e.got = append(e.got, m)
		}
		return e.fail
	}
	return e
}

// heard gives what came since it was last asked, in short: the kind, the reason and the range of
// each incident.
func (e *ear) heard() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []string
	for _, m := range e.got {
		var items []string
		for _, i := range m.Items {
			items = append(items, i.Kind+" "+i.Reason+i.rangeText())
		}
		all = append(all, strings.Join(items, ", "))
	}
	e.got = nil
	return strings.Join(all, " | ")
}

func memLedger(t *testing.T) *ledger.Ledger {
	l := ledger.Open(ledger.Options{Store: bucket.NewMemory(), URL: "mem://"})
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func missing(from, through string) Problem {
	return Problem{Job: "daily", Reason: Stale, From: from, Through: through, Count: 2, Do: "reportferry gaps daily"}
}

// An incident is told of when it begins, not again while it goes on or grows, and once when it is
// over. It may come back.
func TestTheLifeOfAnIncident(t *testing.T) {
	l, at := memLedger(t), time.Date(2026, 1, 10, 6, 0, 0, 0, time.UTC)
	all, some, other, asked := newEar("all"), newEar("some"), newEar("other"), newEar("asked")
	some.On, other.Jobs, asked.Remind = []string{Failed, Resolved}, []string{"weekly"}, 48*time.Hour
	denied := Problem{Job: "daily", Reason: Denied, Count: 1}
	for i, c := range []struct {
		after             time.Duration // since the night before
		problems          []Problem
		calm              bool
		all, asked, some_ string
	}{
		{0, nil, true, "", "", ""},
		{24 * time.Hour, []Problem{missing("2026-01-05", "2026-01-06")}, true, "opened stale 2026-01-05 to 2026-01-06",
			"opened stale 2026-01-05 to 2026-01-06", ""},
		{24 * time.Hour, []Problem{missing("2026-01-05", "2026-01-07")}, true, "", "", ""},
		{24 * time.Hour, []Problem{missing("2026-01-06", "2026-01-08")}, true, "",
			"reminded stale 2026-01-06 to 2026-01-08", ""},
		{time.Hour, []Problem{missing("2026-01-06", "2026-01-08")}, true, "", "", ""},
		{24 * time.Hour, nil, true, "resolved stale 2026-01-05 to 2026-01-08",
			"resolved stale 2026-01-05 to 2026-01-08", ""},
		{24 * time.Hour, nil, true, "", "", ""},
		{24 * time.Hour, []Problem{missing("2026-01-05", "2026-01-05")}, true, "opened stale 2026-01-05",
			"opened stale 2026-01-05", ""},
		{time.Hour, []Problem{missing("2026-01-05", "2026-01-05"), denied}, false, "opened denied", "opened denied",
			""},
		// The run failed otherwise: nothing says that it is let in again.
		{time.Hour, []Problem{missing("2026-01-05", "2026-01-05")}, false, "", "", ""},
		{time.Hour, []Problem{missing("2026-01-05", "2026-01-05")}, true, "resolved denied", "resolved denied", ""},
		{time.Hour, []Problem{{Job: "daily", Reason: Failed, From: "2026-01-09", Through: "2026-01-09"}}, true,
			"opened failed 2026-01-09, resolved stale 2026-01-05",
			"opened failed 2026-01-09, resolved stale 2026-01-05", "opened failed 2026-01-09"},
		{time.Hour, nil, true, "resolved failed 2026-01-09", "resolved failed 2026-01-09",
			"resolved failed 2026-01-09"},
		{72 * time.Hour, nil, true, "", "", ""},
	} {
		at = at.Add(c.after)
		n := News{Ledger: l, Run: fmt.Sprint("run", i), Began: at, Now: at.Add(time.Minute), Jobs: []string{"daily"},
			Calm: map[string]bool{"daily": c.calm}, Problems: c.problems}
		for _, e := range []*ear{all, some, other, asked} {
			n.Receivers = append(n.Receivers, e.Receiver)
		}
		if err := Send(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		for _, e := range []struct {
			*ear
			want string
		}{{all, c.all}, {asked, c.asked}, {some, c.some_}, {other, ""}} {
			if got := e.heard(); got != e.want {
				t.Errorf("night %d: %s heard %q, want %q", i, e.Name, got, e.want)
			}
		}
	}
	if all, _, err := document(l).Load(t.Context()); err != nil || len(all.List) != 0 {
		t.Errorf("what is long over is still in the ledger: %v %v", all, err)
	}
}

// Whoever wasn't reached is told by the next run, and those who were aren't told again. So is
// everybody, when the process died that was to tell.
func TestWhatWasNotSentIsSentLater(t *testing.T) {
	l, at := memLedger(t), time.Date(2026, 1, 10, 6, 0, 0, 0, time.UTC)
	good, bad := newEar("good"), newEar("bad")
	bad.fail = errors.New("unreachable")
	tell := func(after time.Duration, problems ...Problem) error {
		at = at.Add(after)
		return Send(t.Context(), News{Ledger: l, Run: at.String(), Began: at, Now: at, Jobs: []string{"daily"},
			Calm: map[string]bool{"daily": true}, Problems: problems,
			Receivers: []Receiver{good.Receiver, bad.Receiver}})
	}
	expect := func(g, b string) {
		t.Helper()
		if x, y := good.heard(), bad.heard(); x != g || y != b {
			t.Errorf("heard %q and %q, want %q and %q", x, y, g, b)
		}
	}
	one := missing("2026-01-05", "2026-01-05")
	if err := tell(0, one); err == nil || !strings.Contains(err.Error(), "bad: unreachable") {
		t.Error(err)
	}
	expect("opened stale 2026-01-05", "")
	bad.fail = nil
	if err := tell(30*time.Second, one); err != nil { // somebody may still be sending it
		t.Error(err)
	}
	expect("", "")
	if err := tell(24*time.Hour, one); err != nil {
		t.Error(err)
	}
	expect("", "opened stale 2026-01-05")
	if err := tell(24 * time.Hour); err != nil {
		t.Error(err)
	}
	expect("resolved stale 2026-01-05", "resolved stale 2026-01-05")

	// A process takes the notice, and dies.
	two := missing("2026-02-05", "2026-02-05")
	at = at.Add(24 * time.Hour)
	dead := News{Run: "dead", Now: at, Jobs: []string{"daily"}, Problems: []Problem{two},
		Receivers: []Receiver{good.Receiver}}
	if err := document(l).Change(t.Context(), change(func(all *incidents) { dead.compare(all) })); err != nil {
		t.Fatal(err)
	}
	if err := tell(time.Hour, two); err != nil {
		t.Error(err)
	}
	expect("opened stale 2026-02-05", "opened stale 2026-02-05")

	// Nobody heard of it, and it is over: nobody hears of that either.
	bad.fail, good.fail = errors.New("down"), errors.New("down")
	_ = tell(24*time.Hour, two, missing("2026-03-01", "2026-03-02"))
	bad.fail, good.fail = nil, nil
	if err := tell(24*time.Hour, two); err != nil {
		t.Error(err)
	}
	expect("", "")
}

// Tasks that meet one row of days in parts tell of it once, in whatever order: parts that overlap
// or follow on one another are one incident. It isn't over while any of it is being fetched.
func TestPartsOfARow(t *testing.T) {
	l, e, at := memLedger(t), newEar("all"), time.Date(2026, 1, 10, 6, 0, 0, 0, time.UTC)
	row := func(before, from, through, after string) Problem {
		return Problem{Job: "daily", Reason: Failed, Before: before, From: from, Through: through, After: after}
	}
	for i, c := range []struct {
		want              string
		problems, running []Problem
	}{
		{"opened failed 2026-01-07", []Problem{row("2026-01-06", "2026-01-07", "2026-01-07", "2026-01-08")}, nil},
		{"", []Problem{row("2026-01-05", "2026-01-06", "2026-01-06", "2026-01-07")}, nil},
		{"", []Problem{row("2026-01-07", "2026-01-08", "2026-01-08", "2026-01-09")}, nil},
		{"", []Problem{row("", "2026-01-05", "2026-01-05", "2026-01-06"),
			row("2026-01-07", "2026-01-08", "2026-01-08", "2026-01-09")}, nil},
		{"opened failed", []Problem{row("", "2026-01-05", "2026-01-08", "2026-01-09"), row("", "", "", "")}, nil},
		{"resolved failed", []Problem{row("", "2026-01-05", "2026-01-08", "2026-01-09")}, nil},
		{"opened failed 2026-01-10", []Problem{row("2026-01-09", "2026-01-10", "2026-01-10", ""),
			row("", "2026-01-05", "2026-01-08", "2026-01-09")}, nil},
		{"", nil, []Problem{row("", "2026-01-05", "2026-01-05", ""), row("", "2026-01-10", "2026-01-10", "")}},
		{"resolved failed 2026-01-05 to 2026-01-08", nil, []Problem{row("", "2026-01-10", "2026-01-10", "")}},
		{"resolved failed 2026-01-10", nil, nil},
	} {
		at = at.Add(time.Second)
		if err := Send(t.Context(), News{
			Ledger: l, Run: fmt.Sprint("run", i), Began: at, Now: at, Jobs: []string{"daily"},
			Calm:     map[string]bool{"daily": true},
			Problems: c.problems, Running: c.running, Receivers: []Receiver{e.Receiver},
		}); err != nil {
			t.Fatal(err)
		}
		if got := e.heard(); got != c.want {
			t.Errorf("run %d: heard %q, want %q", i, got, c.want)
		}
	}
}

// A calm run that began before a task met a problem says nothing of its end: the next one does.
func TestARunThatBeganBefore(t *testing.T) {
	l, e, at := memLedger(t), newEar("all"), time.Date(2026, 1, 10, 6, 0, 0, 0, time.UTC)
	for i, c := range []struct {
		began    time.Duration
		problems []Problem
		want     string
	}{
		{0, []Problem{{Job: "daily", Reason: Denied}}, "opened denied"},
		{-time.Second, nil, ""},
		{time.Second, nil, "resolved denied"},
	} {
		if err := Send(t.Context(), News{
			Ledger: l, Run: fmt.Sprint("run", i), Began: at.Add(c.began), Now: at.Add(time.Duration(i) * time.Second),
			Jobs: []string{"daily"},
			Calm: map[string]bool{"daily": true}, Problems: c.problems, Receivers: []Receiver{e.Receiver},
		}); err != nil {
			t.Fatal(err)
		}
		if got := e.heard(); got != c.want {
			t.Errorf("run %d: heard %q, want %q", i, got, c.want)
		}
	}
}

// What is missing while other processes are at work isn't news, unless it stays so for long or they
// are done. Of what comes meanwhile nobody hears.
func TestWhatOthersAreAtWorkOn(t *testing.T) {
	l, e, at := memLedger(t), newEar("all"), time.Date(2026, 1, 10, 6, 0, 0, 0, time.UTC)
	one, two := missing("2026-01-05", "2026-01-05"), missing("2026-01-08", "2026-01-08")
	for i, c := range []struct {
		after    time.Duration
		shared   bool
		problems []Problem
		want     string
	}{
		{0, true, []Problem{one}, ""},
		{time.Hour, true, []Problem{one}, ""},
		{time.Hour, true, nil, ""},
		{time.Hour, true, []Problem{one, two}, ""},
		{time.Hour, false, []Problem{two}, "opened stale 2026-01-08"},
		{time.Hour, true, []Problem{one, two}, ""},
		{suspectTime, true, []Problem{one, two}, "opened stale 2026-01-05"},
		{time.Hour, true, nil, "resolved stale 2026-01-05, resolved stale 2026-01-08"},
	} {
		at = at.Add(c.after)
		if err := Send(t.Context(), News{
			Ledger: l, Run: fmt.Sprint("run", i), Began: at, Now: at, Jobs: []string{"daily"},
			Shared:   map[string]bool{"daily": c.shared},
			Problems: c.problems, Receivers: []Receiver{e.Receiver},
		}); err != nil {
			t.Fatal(err)
		}
		if got := e.heard(); got != c.want {
			t.Errorf("run %d: heard %q, want %q", i, got, c.want)
		}
	}
}

// After a long outage there is one message, whether it is one row of days or many.
func TestALongOutageIsOneMessage(t *testing.T) {
	l, e := memLedger(t), newEar("all")
	n := News{Ledger: l, Run: "r", Now: time.Now(), Jobs: []string{"daily"}, Receivers: []Receiver{e.Receiver}}
	for day := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() == 2025; day = day.AddDate(0, 0, 2) {
		n.Problems = append(n.Problems, missing(day.Format(time.DateOnly), day.Format(time.DateOnly)))
	}
	for range 2 {
		if err := Send(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	if len(e.got) != 1 || len(e.got[0].Items) != 183 || len(e.got[0].Lines) != mostLines+1 ||
		!strings.Contains(e.got[0].Text(), "and 173 more") || e.got[0].Title != "reportferry: 183 new" {
		t.Errorf("%d messages, the first: %s", len(e.got), e.got[0].Text())
	}
}

// Eight tasks that meet the same incident at the same time, each in another part of it, tell of it
// once, in a bucket and in a folder.
func TestEightTasksSendOnce(t *testing.T) {
	dir := t.TempDir()
	store, err := bucket.Open(t.Context(), "file://"+dir)
	if err != nil {
		t.Fatal(err)
	}
	folder := ledger.Open(ledger.Options{Store: store})
	t.Cleanup(func() { _ = folder.Close() })
	for name, l := range map[string]*ledger.Ledger{"bucket": memLedger(t), "folder": folder} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEar("all")
			day := func(n int) string { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC).Format(time.DateOnly) }
			for round := range *rounds {
				job := fmt.Sprint("job", round)
				for _, wrong := range []bool{true, false} {
					var wg sync.WaitGroup
					for task := range 8 {
						var problems []Problem
						if part := 5 + 2*(task%2); wrong {
							problems = []Problem{{Job: job, Reason: Unreconciled, Before: day(part - 1),
								From: day(part), Through: day(part + 1), After: day(part + 2)}}
						}
						wg.Go(func() {
							if err := Send(t.Context(), News{
								Ledger: l, Run: fmt.Sprint("task", task), Began: time.Now(), Now: time.Now(),
								Jobs: []string{job}, Calm: map[string]bool{job: true},
								Problems: problems, Receivers: []Receiver{e.Receiver},
							}); err != nil {
								t.Error(err)
							}
						})
					}
					wg.Wait()
				}
				if got := e.heard(); got != "opened unreconciled 2026-01-05 to 2026-01-06 | resolved unreconciled "+
					"2026-01-05 to 2026-01-08" &&
					got != "opened unreconciled 2026-01-07 to 2026-01-08 | resolved unreconciled 2026-01-05 to "+
						"2026-01-08" {
					t.Fatalf("round %d: %s", round, got)
				}
			}
		})
	}
}

// Over a network that loses, doubles and delays, tasks that meet an incident tell of it at most
// once at the same time, and the next night if none could then.
func TestLostAnswersSendOnce(t *testing.T) {
	for seed := range 60 {
		synctest.Test(t, func(t *testing.T) {
			memory := &bucket.Memory{}
			var calls atomic.Int64 // of all tasks
			var mended atomic.Bool // the network is good
			decide := func(c bucket.Call) (f buckettest.Fate) {
				n := int(calls.Add(1))
				if c.Key != "incidents.json" || mended.Load() {
					return f
				}
				switch (n*7 + seed) % 9 {
				case 0:
					f.Err = errors.New("the answer was lost")
				case 1:
					f.Twice = true
				case 2:
					f.Delay = time.Second
				case 3:
					f.Never, f.Err = true, errors.New("the call was lost")
				}
				return f
			}
			e := newEar("all")
			tell := func(task int) {
				l := ledger.Open(ledger.Options{Store: buckettest.NewFaulty(memory, decide)})
				_ = Send(t.Context(), News{Ledger: l, Run: fmt.Sprint("task", task), Now: time.Now(),
					Jobs:     []string{"daily"},
					Problems: []Problem{missing("2026-01-05", "2026-01-06")}, Receivers: []Receiver{e.Receiver}})
			}
			var tasks sync.WaitGroup
			for task := range 4 {
				tasks.Go(func() { tell(task) })
			}
			tasks.Wait()
			if heard := e.heard(); heard != "opened stale 2026-01-05 to 2026-01-06" && heard != "" {
				t.Errorf("seed %d: %s", seed, heard)
			} else if heard == "" {
				time.Sleep(24 * time.Hour)
				mended.Store(true)
				if tell(5); e.heard() == "" {
					t.Errorf("seed %d: nobody was told", seed)
				}
			}
		})
	}
}

// Where the document can't be trusted, everybody is told each time, and the error names it.
func TestDamagedIncidents(t *testing.T) {
	store, e := bucket.NewMemory(), newEar("all")
	if _, err := store.Put(t.Context(), "incidents.json", []byte("{}"), bucket.Condition{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		err := Send(t.Context(), News{Ledger: ledger.Open(ledger.Options{Store: store, URL: "mem://x"}),
			Now: time.Now(), Jobs: []string{"daily"},
			Problems: []Problem{missing("2026-01-05", "2026-01-06")}, Receivers: []Receiver{e.Receiver}})
		if err == nil || !strings.Contains(err.Error(), "mem://x/incidents.json is damaged") ||
			!strings.Contains(err.Error(), "delete it: what goes on") {
			t.Error(err)
		}
		if heard := e.heard(); heard != "opened stale 2026-01-05 to 2026-01-06" {
			t.Errorf("heard %q", heard)
		}
	}
}

// changed is the problem of some days whose numbers changed after they had been final, brought at a
// time.
func changed(brought string, first string, days int) Problem {
	from, err := time.Parse(time.DateOnly, first)
	if err != nil {
		panic(err)
	}
	t := Problem{Job: "daily", Reason: ChangedAfterFinal, From: first, Count: days, Past: true}
	for day := range days {
		t.Through = from.AddDate(0, 0, day).Format(time.DateOnly)
		t.Records = append(t.Records, t.Through+"@"+brought)
	}
	return t
}

// That a final number changed is told of once, and is over then: whoever hears of one day in
// January hears of all the others in June, and of the same day again when its numbers change once
// more. The ledger has the records for as long as nothing replaces them, and nobody hears of them
// again.
func TestNumbersThatChangedAfterFinal(t *testing.T) {
	l, at := memLedger(t), time.Date(2026, 1, 10, 6, 0, 0, 0, time.UTC)
	all, deaf := newEar("all"), newEar("deaf")
	january, june := changed("2026-01-10T06:00:00Z", "2025-11-03", 1),
		changed("2026-06-10T06:00:00Z", "2025-09-01", 274)
	before, behind := changed("2026-01-10T06:00:00Z", "2025-11-03", 1), changed("2026-07-01T06:00:00Z", "2026-06-02", 1)
	behind.Records, behind.Count = append(june.Records, behind.Records...), 275
	behind.From = june.From
	left := changed("2025-01-01T06:00:00Z", "2025-01-01", 3)
	left.Past = false
	for i, c := range []struct {
		what      string
		after     time.Duration
		all, deaf string
		fails     bool
		problems  []Problem
	}{
		{"a final day moved", 0, "opened changed_after_final 2025-11-03", "", true, []Problem{january}},
		{"who didn't hear of it hears of it before it is over", 24 * time.Hour, "",
			"opened changed_after_final 2025-11-03", false, []Problem{before}},
		{"then it is over", 24 * time.Hour, "resolved changed_after_final 2025-11-03",
			"resolved changed_after_final 2025-11-03", false, []Problem{before}},
		{"weeks later the record is still there", 60 * 24 * time.Hour, "", "", false, []Problem{before}},
		{"of a run that couldn't look at the job", 24 * time.Hour, "", "", false, nil},
		{"and the one after it", 24 * time.Hour, "", "", false, []Problem{before}},
		{"in June 274 days move", 60 * 24 * time.Hour, "opened changed_after_final 2025-09-01 to 2026-06-01",
			"opened changed_after_final 2025-09-01 to 2026-06-01", false, []Problem{june}},
		{"a task of the same run that ends later", 10 * time.Minute, "", "", false, []Problem{june}},
		{"another day moves beside them", 24 * time.Hour,
			"resolved changed_after_final 2025-09-01 to 2026-06-01, opened changed_after_final 2026-06-02",
			"resolved changed_after_final 2025-09-01 to 2026-06-01, opened changed_after_final 2026-06-02", false,
			[]Problem{behind}},
		{"a night later", 24 * time.Hour, "resolved changed_after_final 2026-06-02",
			"resolved changed_after_final 2026-06-02", false, []Problem{behind}},
		{"what moved and was left goes on", 24 * time.Hour, "opened changed_after_final 2025-01-01 to 2025-01-03",
			"opened changed_after_final 2025-01-01 to 2025-01-03", false, []Problem{left, behind}},
		{"for as long as it stands", 24 * time.Hour, "", "", false, []Problem{left, behind}},
		{"and ends with it", 24 * time.Hour, "resolved changed_after_final 2025-01-01 to 2025-01-03",
			"resolved changed_after_final 2025-01-01 to 2025-01-03", false, nil},
		{"nothing is left", 72 * time.Hour, "", "", false, nil},
	} {
		at = at.Add(c.after)
		deaf.fail = nil
		if c.fails {
			deaf.fail = errors.New("away")
		}
		n := News{Ledger: l, Run: fmt.Sprint("run", i), Began: at, Now: at.Add(2 * time.Minute),
			Jobs: []string{"daily"}, Calm: map[string]bool{"daily": true},
			Problems: c.problems, Receivers: []Receiver{all.Receiver, deaf.Receiver}}
		if c.what == "of a run that couldn't look at the job" {
			n.Jobs = nil
		}
		if strings.HasPrefix(c.what, "a task of the same run") {
			n.Began = at.Add(-20 * time.Minute)
		}
		if err := Send(t.Context(), n); (err != nil) != c.fails {
			t.Fatal(err)
		}
		if a, d := all.heard(), deaf.heard(); a != c.all || d != c.deaf {
			t.Errorf("%s: heard %q and %q,\nwant %q and %q", c.what, a, d, c.all, c.deaf)
		}
	}
	if all, _, err := document(l).Load(t.Context()); err != nil || len(all.List) != 0 {
		t.Errorf("what isn't there any more is still in the ledger: %v %v", all, err)
	}
}
