//go:build !fuzz

package spend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/adjust/transport"
	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/outbox/files"
)

// A rig is a spend job with all that it needs, in memory.
type rig struct {
	server          *emulator.Server
	ledger          *ledger.Ledger
	source, rejects *blob.Bucket
	client          *adjust.Client
	log             bytes.Buffer
	runs            int
	o               Options
}

func newRig(t *testing.T, key string, faults ...emulator.Fault) *rig {
	t.Helper()
	return newRigReading(t, key, nil, faults...)
}

// newRigReading is newRig at a service that reads its document in a certain way, and else takes the
// key as it is sent here.
func newRigReading(t *testing.T, key string, readings []string, faults ...emulator.Fault) *rig {
	t.Helper()
	r := &rig{source: memblob.OpenBucket(nil), rejects: memblob.OpenBucket(nil)}
	var err error
	r.server, err = emulator.New(emutest.With(emulator.Options{Apps: 2, Days: 10, Rate: -1, Faults: faults,
		Partners: map[string]string{"partner-key": ""},
		Readings: append([]string{"spend-auth=bearer"}, readings...)}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.server.Close() })
	secret, err := transport.ParseToken("${KEY}", func(string) string { return key })
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(&r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r.client, err = adjust.New(adjust.Options{
		CostURL: "http://embedded", SpendAuth: adjust.RecordAuth{Key: secret},
		Options: transport.Options{Rate: 100_000, InFlight: 8, HTTP: r.server.Client(), Logger: log},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.ledger = ledger.Open(ledger.Options{Store: bucket.NewMemory(), URL: "mem://", Lease: time.Minute})
	source, err := files.ParseSource("gs://bucket/spend/{date}/*.csv*")
	if err != nil {
		t.Fatal(err)
	}
	r.o = Options{
		Options: files.Options{
			Job: "nightly", Table: "nightly", Ledger: r.ledger, Inbox: files.Inbox{Source: source, Bucket: r.source,
				Window: 7, Zone: time.UTC},
			Rejects: r.rejects, MaxRejects: &outbox.Most{Share: 0.5}, InFlight: 8, SpoolDir: t.TempDir(), Log: log,
		},
		Client: r.client, Columns: map[string]string{"engaged_at": "time"},
		Constants: map[string]string{"cost_type": "cpi", "tag": "test"}, Zone: time.UTC,
	}
	return r
}

// run is one night.
func (r *rig) run(t *testing.T) ledger.Result {
	t.Helper()
	return r.runIn(t.Context(), t)
}

func (r *rig) runIn(ctx context.Context, t *testing.T) ledger.Result {
	t.Helper()
	r.runs++
	o := r.o
	o.Run = fmt.Sprintf("run-%d", r.runs)
	k := New(o)
	list := []jobs.Job{{Name: o.Job, Table: o.Table, Kind: k}}
	runner := &jobs.Runner{Run: o.Run, Lease: time.Minute, Parallel: 4, Log: o.Log}
	return runner.RunJobs(ctx, list, jobs.PlanJobs(context.WithoutCancel(ctx), list, time.Now()))[0]
}

func (r *rig) put(t *testing.T, key, data string) {
	t.Helper()
	if err := r.source.WriteAll(context.Background(), key, []byte(data), nil); err != nil {
		t.Fatal(err)
	}
}

// file makes a file of the emulator's engagements, some of them bad.
func (r *rig) file(from, to int) (text string, good int) {
	var b strings.Builder
	b.WriteString("cost_id,cost_currency,cost_amount,time\n")
	n := 0
	now := time.Now()
	for e := range r.server.Engagements(now.AddDate(0, 0, -5), now, 40) {
		if n++; n < from || n >= to {
			continue
		}
		fmt.Fprintf(&b, "%s,EUR,%d.250,%s\n", e.CostID, n%7, e.Time.Format(time.RFC3339))
		good++
	}
	return b.String(), good
}

func today(daysAgo int) string { return time.Now().UTC().AddDate(0, 0, -daysAgo).Format(time.DateOnly) }

// Nights in a row: each record is sent once, whatever is repeated, added, changed or late, and the
// emulator's books agree.
func TestNights(t *testing.T) {
	r := newRig(t, "partner-key")
	first, n := r.file(1, 101)
	r.put(t, today(1)+"/a.csv", first+"short,EUR,1,2026-01-01T00:00:00Z\n"+"long-enough-but-old,EUR,1,"+
		"2026-01-01T00:00:00Z\n")
	res := r.run(t)
	if len(res.Errs) > 0 || res.Outcome.Written != 1 || res.Outcome.Rows != int64(n) {
		t.Fatalf("first night: %+v", res)
	}
	rejects, err := r.rejects.ReadAll(context.Background(), today(1)+"/a.csv"+files.RejectsSuffix)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nshort,EUR,1,2026-01-01T00:00:00Z,cost_id,has 5 characters; want 12 to " +
		"256,\"the Cost ID ", "engaged_at,is more than seven days ago ("} {
		if !strings.Contains(string(rejects), want) {
			t.Errorf("rejects:\n%swant %s", rejects, want)
		}
	}
	if files, err := New(r.o).Outbox().Files(context.Background()); err != nil || len(files) != 1 ||
		files[0].Refused != 2 || files[0].Rejected != 0 {
		t.Errorf("both bad rows are refused before anything is sent: %+v, %v", files, err)
	}
	if res = r.run(t); res.Outcome.Windows != 0 || len(res.Errs) > 0 {
		t.Errorf("nothing is new: %+v", res)
	}
	r.put(t, today(1)+"/a.csv", first+"short,EUR,1,2026-01-01T00:00:00Z\n"+"long-enough-but-old,EUR,1,"+
		"2026-01-01T00:00:00Z\n")
	if res = r.run(t); res.Outcome.Windows != 1 || res.Outcome.Unchanged != 1 || res.Outcome.Written != 0 ||
		len(res.Errs) > 0 {
		t.Errorf("a file was put there again as it is: %+v", res)
	}
	// The next night repeats fifty and has fifty more; a late file lies in an older folder; another
	// is no file of the window.
	second, _ := r.file(51, 151)
	third, _ := r.file(151, 181)
	r.put(t, today(0)+"/b.csv.gz", string(gzipped(t, []byte(second))))
	r.put(t, today(6)+"/late.csv", third)
	r.put(t, today(9)+"/ancient.csv", third)
	r.put(t, today(0)+"/other.txt", third)
	if res = r.run(t); len(res.Errs) > 0 || res.Outcome.Written != 2 || res.Outcome.Rows != 80 {
		t.Errorf("second night: %+v", res)
	}
	// A file that has grown.
	more, _ := r.file(151, 201)
	r.put(t, today(6)+"/late.csv", more)
	if res = r.run(t); len(res.Errs) > 0 || res.Outcome.Written != 1 || res.Outcome.Rows != 20 {
		t.Errorf("third night: %+v", res)
	}
	// The same Cost IDs with other amounts.
	r.put(t, today(2)+"/c.csv", strings.ReplaceAll(third, ".250,", ".500,"))
	if res = r.run(t); len(res.Errs) > 0 || res.Outcome.Conflicts != 30 || res.Outcome.Rows != 0 {
		t.Errorf("conflicts: %+v", res)
	}
	books := r.server.Spend()
	if books.Records != 200 || books.Duplicates+books.Replaced != 0 || books.States["matched"] != 200 {
		t.Errorf("books: %+v", books)
	}
	files, err := New(r.o).Outbox().Summed(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	ours := map[string]int64{}
	for _, f := range files {
		for key, sum := range f.Sums {
			ours[strings.TrimSuffix(key, " test")] += sum.Records
		}
	}
	for _, total := range books.Totals {
		key := Key{Day: total.Day, Type: total.CostType, Currency: total.Currency}.String()
		if ours[key] != int64(total.Records) {
			t.Errorf("%s: pushed %d, the service has %d", key, ours[key], total.Records)
		}
		delete(ours, key)
	}
	if len(ours) > 0 {
		t.Errorf("pushed, and not in the books: %v", ours)
	}
	r.clean(t)
}

// clean sees that no Cost ID and no key is in the log.
func (r *rig) clean(t *testing.T) {
	t.Helper()
	for e := range r.server.Engagements(time.Now().AddDate(0, 0, -9), time.Now(), 40) {
		if strings.Contains(r.log.String(), e.CostID) {
			t.Fatalf("the log holds a Cost ID:\n%s", r.log.String())
		}
	}
	if strings.Contains(r.log.String(), "partner-key") || strings.Contains(r.log.String(), "long-enough") {
		t.Errorf("the log holds a key or an identifier:\n%s", r.log.String())
	}
}

// Lost answers and refusals: all is taken, and what was sent twice is counted as unknown.
func TestFaults(t *testing.T) {
	// So that its books count what comes twice.
	r := newRigReading(t, "partner-key", []string{"spend-duplicate=replaces", "spend-parameters=both"},
		emulator.Fault{Path: "cost", Kind: "lost", Times: 7}, emulator.Fault{Path: "cost", Kind: "status", Status: 503,
			Times: 5})
	text, n := r.file(1, 301)
	r.put(t, today(0)+"/a.csv", text)
	if res := r.run(t); len(res.Errs) > 0 || res.Outcome.Rows != int64(n) {
		t.Errorf("%+v", res)
	}
	files, err := New(r.o).Outbox().Files(context.Background())
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	books := r.server.Spend()
	if f := files[0]; books.Records != n || int64(books.Duplicates) > f.Doubtful || f.Accepted != int64(n) ||
		books.Duplicates == 0 {
		t.Errorf("books %+v, file %+v", books, f)
	}
	r.clean(t)
}

// A key that is refused stops the job, and nothing counts as sent.
func TestDenied(t *testing.T) {
	r := newRig(t, "wrong-key")
	text, _ := r.file(1, 50)
	r.put(t, today(0)+"/a.csv", text)
	r.put(t, today(1)+"/b.csv", text)
	res := r.run(t)
	if code := jobs.ExitCode([]ledger.Result{res}, false, true); code != jobs.ExitDenied {
		t.Errorf("exit code %d, %+v", code, res)
	}
	if books := r.server.Spend(); books.Records != 0 {
		t.Errorf("books: %+v", books)
	}
}

// A file that hasn't been quiet waits, and the run says until when: that is no failure, nor the
// job's success.
func TestGrowing(t *testing.T) {
	r := newRig(t, "partner-key")
	r.o.Quiet = time.Hour
	text, _ := r.file(1, 50)
	r.put(t, today(0)+"/a.csv", text)
	res := r.run(t)
	if len(res.Errs) > 0 || res.Outcome.Written != 0 || r.server.Spend().Records != 0 || res.Outcome.Waiting != 1 {
		t.Errorf("%+v", res)
	}
	if left := time.Until(res.Outcome.Due); left < 59*time.Minute || left > time.Hour+time.Second {
		t.Errorf("due in %v", left)
	}
	if code := jobs.ExitCode([]ledger.Result{res}, false, false); code != jobs.ExitDone || res.Succeeded() {
		t.Errorf("exit code %d, success %v", code, res.Succeeded())
	}
	r.o.Quiet = 0
	if !r.run(t).Succeeded() {
		t.Error("no success once it is pushed")
	}
}

// Records that are parked are said, and make the exit code 3.
func TestParked(t *testing.T) {
	r := newRig(t, "partner-key", emulator.Fault{Path: "cost", Kind: emulator.FaultLost, Every: 20})
	r.o.ParkUnknown = true
	text, n := r.file(1, 50)
	r.put(t, today(0)+"/a.csv", text)
	res := r.run(t)
	if code := jobs.ExitCode([]ledger.Result{res}, false, false); code != jobs.ExitSome ||
		!errors.Is(errors.Join(res.Errs...), files.ErrParked) ||
		!strings.Contains(fmt.Sprint(res.Errs), fmt.Sprint("parked: ", n/20+1)) {
		t.Errorf("exit code %d of %d records: %v", code, n, res.Errs)
	}
}

// One file that can't be read doesn't stop the next.
func TestOneBadFile(t *testing.T) {
	r := newRig(t, "partner-key")
	text, n := r.file(1, 50)
	r.put(t, today(0)+"/a.csv", "click;spend\n1;2\n")
	r.put(t, today(0)+"/b.csv", text)
	res := r.run(t)
	if len(res.Errs) != 1 || !strings.Contains(res.Errs[0].Error(), `none of its 2 columns is "cost_id"`) ||
		res.Outcome.Rows != int64(n) {
		t.Errorf("%+v", res)
	}
	if code := jobs.ExitCode([]ledger.Result{res}, false, false); code != jobs.ExitSome {
		t.Errorf("exit code %d", code)
	}
}

// Check counts the reasons and sends nothing.
func TestCheck(t *testing.T) {
	r := newRig(t, "partner-key")
	text, _ := r.file(1, 11)
	r.put(t, "x.csv", text+"short,EUR,1,2026-01-01T00:00:00Z\nshoot,EUR,1,2026-01-01T00:00:00Z\nlong-enough-id,EUR,"+
		"-1,2026-01-01T00:00:00Z\n")
	r.o.Inbox.Files = []files.Path{{Name: "x.csv", Bucket: r.source, Key: "x.csv"}}
	k := New(r.o)
	plan, err := k.Plan(context.Background(), time.Now())
	if err != nil || len(plan.Units) != 1 || plan.Units[0].Files[0] != "x.csv" {
		t.Fatal(plan, err)
	}
	report, err := k.Check(context.Background(), r.o.Inbox.Files[0])
	want := []files.Problem{{Refusal: *refuse(costID, "has 5 characters; want 12 to 256"), Rows: 2, First: 11},
		{Refusal: *refuse(costAmount, "is negative"), Rows: 1, First: 13}}
	if err != nil || report.Rows != 13 || report.Refused != 3 || fmt.Sprint(report.Problems) != fmt.Sprint(want) ||
		r.server.Spend().Records != 0 {
		t.Errorf("%+v, %+v, %v", report, report.Problems, err)
	}
}

// A record may expire while those before it are sent; it isn't sent then.
func TestExpiredOnTheWay(t *testing.T) {
	_, err := (&Kind{}).submit(context.Background(), nil, Cost{CostID: goodID,
		Engaged: time.Now().Add(-Late - time.Second)})
	if !errors.Is(err, outbox.ErrRejected) || !strings.Contains(err.Error(),
		"engaged_at: is more than seven days ago (7 days and 0 hours): expired") {
		t.Error(err)
	}
}

// A record whose answers are all lost is sent as often as the client's attempts allow, and no layer
// above repeats it; once when records in doubt are parked.
func TestRetriesAreInOneLayer(t *testing.T) {
	for park, want := range map[bool]int64{false: 8, true: 1} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, "partner-key", emulator.Fault{Path: "cost", Kind: emulator.FaultStatus, Status: 500,
				Times: 1000})
			r.o.ParkUnknown = park
			text, _ := r.file(0, 2)
			r.put(t, today(0)+"/a.csv", text)
			if res := r.run(t); res.Outcome.Requests != want || len(res.Errs) != 1 {
				t.Errorf("%d requests, want %d; %v", res.Outcome.Requests, want, res.Errs)
			}
		})
	}
}

// A check shows records without the Cost ID, wherever it stands.
func TestShow(t *testing.T) {
	for tag, want := range map[string]string{"nightly": "nightly", "for click-4711-of-somebody": "(with the Cost ID)"} {
		shown := fmt.Sprint(Cost{Type: "cpi", Currency: "eur", Amount: "1.5", CostID: "click-4711-of-somebody",
			Tag: tag}.show())
		if strings.Contains(shown, "4711") || !strings.Contains(shown, want) {
			t.Error(shown)
		}
	}
}

// Rows of totals and notes are neither refused nor sent, whatever their share is, and a rejects
// file is UTF-8 though the file isn't.
func TestNotesAndEncodings(t *testing.T) {
	r := newRig(t, "partner-key")
	text, n := r.file(1, 5)
	r.put(t, today(1)+"/a.csv",
		text+"caf\xe9-caf\xe9-caf\xe9\x81,EUR,1,"+time.Now().UTC().Format(time.RFC3339)+"\nTotal,,5,\n\xa9 2026 "+
			"M\xfcller & S\xf6hne\n,,,\nTotal: all,,,\n")
	r.o.MaxRejects = &outbox.Most{Count: 1}
	if res := r.run(t); len(res.Errs) > 0 || res.Outcome.Rows != int64(n) {
		t.Errorf("%+v", res)
	}
	if f := r.pushed(t); f.Refused != 1 || f.Rows != int64(n)+1 {
		t.Errorf("%+v", f)
	}
	data, err := r.rejects.ReadAll(t.Context(), today(1)+"/a.csv"+files.RejectsSuffix)
	if err != nil || !utf8.Valid(data) || !strings.Contains(string(data), "café-café-café\ufffd") ||
		!strings.Contains(string(data), "is not UTF-8, first on line 6, column 4") {
		t.Errorf("%q, %v", data, err)
	}
}
