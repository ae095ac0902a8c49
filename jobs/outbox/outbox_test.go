package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/outbox/store"
)

func TestEachRecordOnce(t *testing.T) {
	r := newRig(t)
	m := lines("a 1\nb 2\na 1\n# no\n\nb 3\nc 4")
	report := r.do(r.push("one", m))
	r.sent("a 1, b 2, c 4")
	r.want(report.File, "3 accepted, 1 refused, 1 duplicates, 1 conflicts, ended")
	r.rejected("one.rejects.csv", "4,line,is a comment,# no\n6,,the same record was pushed before with other "+
		"content,b 3")
	if s := report.Sums["a"]; s.Records != 1 || s.Amount.Int64() != 3 {
		t.Errorf("sum of a: %v", s)
	}
	if report = r.do(r.push("one", m)); !report.Same || report.Accepted != 3 {
		t.Errorf("again: %+v", report)
	}
	m.version = "2"
	if report = r.do(r.push("one", m)); !report.Same || report.Version != "2" {
		t.Errorf("touched: %+v", report)
	}
	// Other files, and other processes.
	r.Outbox = r.open()
	report = r.do(r.push("two", lines("b 2\nc 5\nd 6\na 1")))
	r.sent("d 6")
	r.want(report.File, "1 accepted, 2 duplicates, 1 conflicts, ended")
	if files, err := r.Files(t.Context()); err != nil || len(files) != 2 || files[0].Name != "two" ||
		files[1].Version != "2" {
		t.Errorf("files: %+v, %v", files, err)
	}
}

func TestChangedFile(t *testing.T) {
	r := newRig(t)
	m := lines("a 1\nb 2")
	r.do(r.push("f", m))
	m.lines, m.version = append(m.lines, "c 3", "a 9"), "2"
	report := r.do(r.push("f", m))
	r.sent("a 1, b 2, c 3")
	r.want(report.File, "1 accepted, 2 duplicates, 1 conflicts, ended")
	if !report.Changed {
		t.Error("the change isn't reported")
	}
	p := r.push("f", lines("a 8\na 7\na 8"))
	p.SendConflicts, p.Source.(*memo).version = true, "3"
	report = r.do(p)
	r.sent("a 8, a 7")
	r.want(report.File, "2 accepted, 1 duplicates, ended")
}

func TestGoesOnAfterFailure(t *testing.T) {
	r := newRig(t)
	m := lines("a 1\nb 2\nc 3\nd 4")
	r.service.say = func(line string, _ int) error {
		if line == "c 3" {
			return errDown
		}
		return nil
	}
	report, err := doFile(t.Context(), r.Outbox, r.push("f", m))
	if !errors.Is(err, errDown) {
		t.Fatal(err)
	}
	r.want(report.File, "2 pending, 2 accepted, open")
	r.sent("a 1, b 2, c 3")
	r.service.say = nil
	// Meanwhile another file brings one of the pending records.
	r.want(r.do(r.push("late", lines("a 1\nd 4"))).File, "1 accepted, 1 duplicates, ended")
	r.sent("d 4")
	r.want(r.do(r.push("f", m)).File, "3 accepted, 1 duplicates, ended")
	r.sent("c 3")
}

// What a file that changed had open is neither lost nor sent twice.
func TestChangedBeforeItsEnd(t *testing.T) {
	r := newRig(t)
	m := lines("a 1\nb 2\nc 3")
	r.service.say = func(line string, _ int) error {
		if line == "b 2" {
			return fmt.Errorf("%w by a test", jobs.ErrDenied)
		}
		return nil
	}
	if _, err := doFile(t.Context(), r.Outbox, r.push("f", m)); !jobs.Denied(err) {
		t.Fatal(err)
	}
	r.service.say = nil
	r.service.take()
	m.lines, m.version = []string{"c 3", "b 2", "a 1"}, "2"
	r.want(r.do(r.push("f", m)).File, "2 accepted, 1 duplicates, ended")
	r.sent("c 3, b 2")
	files, err := r.Files(t.Context())
	if err != nil || len(files) != 2 || files[1].Open() {
		t.Errorf("files: %+v, %v", files, err)
	}
}

func TestRejectedByTheService(t *testing.T) {
	r := newRig(t)
	r.service.say = func(line string, _ int) error {
		switch line[0] {
		case 'b':
			return fmt.Errorf("status 400: %w", &Rejection{"tag", "is too long"})
		case 'c':
			return ErrRejected
		case 'd':
			return errDown
		}
		return nil
	}
	m := lines("a 1\nb 2\nc 3\nd 4\ne 5")
	if _, err := doFile(t.Context(), r.Outbox, r.push("f", m)); !errors.Is(err, errDown) {
		t.Fatal(err)
	}
	r.rejected("f.rejects.csv", "")
	r.service.take()
	r.service.say = nil
	report := r.do(r.push("f", m))
	r.sent("d 4, e 5")
	r.want(report.File, "3 accepted, 2 rejected, ended")
	r.rejected("f.rejects.csv", "2,tag,is too long,b 2\n3,,refused by the service,c 3")
	if report.Rejects != "f.rejects.csv" {
		t.Errorf("rejects are at %q", report.Rejects)
	}
	// What the service refused once may be good in another file.
	r.want(r.do(r.push("g", lines("b 2"))).File, "1 accepted, ended")
}

func TestUnknownIsSentAgain(t *testing.T) {
	r := newRig(t)
	r.service.say = func(line string, times int) error {
		if line == "b 2" && times < 4 {
			return ErrUnknown
		}
		return nil
	}
	report := r.do(r.push("f", lines("a 1\nb 2\nc 3")))
	r.want(report.File, "3 accepted, 1 doubtful, ended")
	if report.Sent != 3 || report.Resent != 3 || report.Sums["b"].Records != 1 {
		t.Errorf("%+v", report)
	}
	// Not for ever: the others are sent, and the next run sends it again.
	r.service.take()
	r.service.say = func(line string, times int) error {
		if line == "y 2" && times <= tries {
			return ErrUnknown
		}
		return nil
	}
	m := lines("x 1\ny 2\nz 3")
	report, err := doFile(t.Context(), r.Outbox, r.push("g", m))
	if !errors.Is(err, ErrUnknown) {
		t.Fatal(err)
	}
	r.want(report.File, "2 accepted, 1 unknown, 1 doubtful, open")
	r.service.take()
	report = r.do(r.push("g", m))
	r.sent("y 2")
	r.want(report.File, "3 accepted, 1 doubtful, ended")
}

func TestUnknownIsParked(t *testing.T) {
	r := newRig(t)
	r.service.say = func(line string, times int) error {
		if line == "b 2" && times == 1 {
			return ErrUnknown
		}
		return nil
	}
	m := lines("a 1\nb 2\nc 3")
	p := r.push("f", m)
	p = r.parked(p)
	r.want(r.do(p).File, "2 accepted, 1 unknown, ended")
	r.sent("a 1, b 2, c 3")
	// Another file doesn't send it either, nor takes other content of it.
	q := r.push("g", lines("b 2\nd 4"))
	q = r.parked(q)
	r.want(r.do(q).File, "1 accepted, 1 unknown, ended")
	r.want(r.do(r.push("h", lines("b 5"))).File, "1 conflicts, ended")
	r.sent("d 4")
	if n, err := r.Requeue(t.Context(), "f"); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := r.Requeue(t.Context(), "f"); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	r.want(r.do(p).File, "3 accepted, 1 doubtful, ended")
	r.sent("b 2")
}

// Rows of totals, notes and empty ones are counted, are no rejects, and don't make the file another
// one.
func TestSkippedRows(t *testing.T) {
	r := newRig(t)
	p := r.push("f", lines("~ report of May\na 1\n~ sub total\nb 2\n~ total 3\n~ made by hand"))
	p.MaxRejects = &Most{Count: 0}
	r.want(r.do(p).File, "2 accepted, 4 skipped, ended")
	r.sent("a 1, b 2")
	r.rejected("f.rejects.csv", "")
	later := lines("~ report of May\na 1\n~ sub total\nb 2\n~ total, corrected")
	later.version = "2"
	if report := r.do(r.push("f", later)); !report.Same {
		t.Errorf("another row of totals makes the file another one: %+v", report)
	}
	r.sent("")
}

func TestTooManyRejects(t *testing.T) {
	r := newRig(t)
	p := r.push("f", lines("a 1\n# no\n# no\na 2"))
	p.MaxRejects = &Most{Count: 1}
	report, err := doFile(t.Context(), r.Outbox, p)
	if !errors.Is(err, ErrTooMany) || !strings.Contains(err.Error(), "2 of 4 rows, the limit is 1") {
		t.Fatal(err)
	}
	r.sent("")
	r.want(report.File, "1 pending, 2 refused, 1 conflicts, open")
	r.rejected("f.rejects.csv", "2,line,is a comment,# no\n3,line,is a comment,# no\n"+
		"4,,the same record was pushed before with other content,a 2")
	// It is told of, and isn't done, also when it is refused again and others are pushed.
	for range 2 {
		files, err := r.Files(t.Context())
		if err != nil || len(files) != 1 || files[0].Error != "too many rejects: 2 of 4 rows, the limit is 1" ||
			files[0].Rejects != "f.rejects.csv" || files[0].Refused != 2 {
			t.Fatalf("%+v, %v", files, err)
		}
		if why := files[0].Reasons; !slices.Equal(why, []store.Reason{{Field: "line", Reason: "is a comment",
			Rows: 2}}) {
			t.Fatalf("reasons: %+v", why)
		}
		r.want(files[0], "1 pending, 2 refused, 1 conflicts, open")
		if _, err := doFile(t.Context(), r.Outbox, p); !errors.Is(err, ErrTooMany) {
			t.Fatal(err)
		}
	}
	r.do(r.push("other", lines("g 1")))
	if files, err := r.Files(t.Context()); err != nil || len(files) != 2 || files[1].Error == "" {
		t.Fatalf("%+v, %v", files, err)
	}
	r.service.take()
	p.MaxRejects = &Most{Share: 0.75}
	r.do(p)
}

func TestFileThatChangesWhileItIsRead(t *testing.T) {
	for name, change := range map[string]func(m *memo, sending bool, row int64){
		"version": func(m *memo, sending bool, row int64) { m.version = "2" },
		"between": func(m *memo, sending bool, row int64) {
			if sending {
				m.lines[299] = "other 1"
			}
		},
		"shorter": func(m *memo, sending bool, row int64) {
			if sending && row == 100 {
				m.lines[899] = ""
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			m := many(900)
			m.read = func(sending bool, row int64) { change(m, sending, row) }
			_, err := doFile(t.Context(), r.Outbox, r.push("f", m))
			if !errors.Is(err, ErrGrowing) {
				t.Fatal(err)
			}
			if n := len(r.service.got); name == "between" && n != block || name == "version" && n > 0 ||
				r.service.got["other 1"] > 0 {
				t.Errorf("%d records were sent", n)
			}
			m.read = nil
			r.do(r.push("f", m))
			for line, n := range r.service.got {
				if n != 1 {
					t.Errorf("%s was sent %d times", line, n)
				}
			}
		})
	}
	r := newRig(t)
	p := r.push("f", lines("a 1"))
	p.Quiet = 2 * time.Hour
	if _, err := doFile(t.Context(), r.Outbox, p); !errors.Is(err, ErrGrowing) {
		t.Fatal(err)
	}
}

// A record that was pending and has expired by the next run is refused then; one that was accepted
// stays accepted.
func TestExpiresMeanwhile(t *testing.T) {
	r := newRig(t)
	m := lines("a 1\nb 2\nc 3\n# no")
	r.service.say = func(line string, _ int) error {
		if line == "b 2" {
			return errDown
		}
		return nil
	}
	if _, err := doFile(t.Context(), r.Outbox, r.push("f", m)); !errors.Is(err, errDown) {
		t.Fatal(err)
	}
	r.service.say = nil
	r.service.take()
	p := r.push("f", m)
	p.Source = expiring{m}
	r.want(r.do(p).File, "1 accepted, 3 refused, ended")
	r.sent("")
	r.rejected("f.rejects.csv", "2,line,is too old,b 2\n3,line,is too old,c 3\n4,line,is a comment,# no")
}

// What is in doubt stays so when the next attempt surely fails, and can't be sent again once it has
// expired.
func TestDoubtThenFailureThenExpired(t *testing.T) {
	r := newRig(t)
	m := lines("a 1")
	r.service.say = func(_ string, times int) error {
		if times == 1 {
			return ErrUnknown
		}
		return errDown
	}
	report, err := doFile(t.Context(), r.Outbox, r.push("f", m))
	if !errors.Is(err, errDown) {
		t.Fatal(err)
	}
	r.want(report.File, "1 unknown, 1 doubtful, open")
	r.sent("a 1, a 1")
	p := r.push("f", m)
	p.Source = expiring{m}
	r.want(r.do(p).File, "1 refused, 1 doubtful, ended")
	r.sent("")
}

// A file that ended is read again when it is asked for: what is good may be another thing by now.
func TestAgain(t *testing.T) {
	r := newRig(t)
	m := lines("a 1\n# b")
	r.do(r.push("f", m))
	m.lines[1] = "b 2"
	if report := r.do(r.push("f", m)); !report.Same { // the version says so
		t.Errorf("%+v", report)
	}
	p := r.push("f", m)
	p.Again = true
	r.want(r.do(p).File, "1 accepted, 1 duplicates, ended")
	r.sent("a 1, b 2")
}

// expiring refuses every record by the clock.
type expiring struct{ *memo }

func (e expiring) Read(ctx context.Context, sending bool, each func(*Record[string]) error) error {
	return e.memo.Read(ctx, sending, func(r *Record[string]) error {
		if r.Refusal == nil {
			r.Refusal, r.Expired = &Rejection{"line", "is too old"}, true
		}
		return each(r)
	})
}

func TestCheckWritesNothing(t *testing.T) {
	r := newRig(t)
	r.do(r.push("f", lines("a 1")))
	before := r.keys()
	report, err := Check(t.Context(), r.Outbox, r.push("g", lines("a 1\nb 2\n# no")), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.want(report.File, "1 pending, 1 refused, 1 duplicates, open")
	if after := r.keys(); after != before {
		t.Errorf("the ledger was\n%s\nand is\n%s", before, after)
	}
	r.rejected("g.rejects.csv", "")
	r.sent("a 1")
}

// A client that panics may have sent the record before, so it is in doubt as after a lost answer.
// The others are sent.
func TestAClientThatPanics(t *testing.T) {
	r := newRig(t)
	p := r.push("one", lines("a 1\nb 2\nc 3"))
	p.ParkUnknown = true
	send := p.Send
	p.Send = func(ctx context.Context, line string) (int, error) {
		resent, err := send(ctx, line)
		if line == "b 2" {
			panic("a mistake of the client")
		}
		return resent, err
	}
	report := r.do(p)
	r.sent("a 1, b 2, c 3")
	r.want(report.File, "2 accepted, 1 unknown, ended")
}
