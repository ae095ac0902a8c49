package outbox

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/slow"
)

// A record with two IDs keeps its place among the records of both.
func TestTwoIDs(t *testing.T) {
	r := newRig(t)
	m := lines("a 1\nb 1\na+b 2\nb 3\na 3\nc 1")
	p := r.ordered("1", "1", m)
	p.InFlight = 4
	r.want(r.do(p).File, "6 accepted, ended")
	got := r.service.take()
	for _, pair := range [][2]string{{"a 1", "a+b 2"}, {"b 1", "a+b 2"}, {"a+b 2", "b 3"}, {"a+b 2", "a 3"}} {
		if strings.Index(got, pair[0]) > strings.Index(got, pair[1]) {
			t.Errorf("%s isn't before %s in %q", pair[0], pair[1], got)
		}
	}
	if report := r.do(p); !report.Same {
		t.Errorf("%+v", report)
	}
	r.sent("")
}

// A file that grows sends what is new of it, one that changes otherwise sends a group from its
// first row on, and a record that gets a second ID isn't the one that was sent.
func TestTwoIDsChanged(t *testing.T) {
	r := newRig(t)
	m := lines("a 1\nb 1\na+b 2\nc 1\nd 1")
	r.do(r.ordered("f", "1", m))
	r.service.take()
	change := func(text, version, want, sent string) {
		t.Helper()
		m.lines, m.version = strings.Split(text, "\n"), version
		p := r.ordered("f", "1", m)
		p.InFlight = 1
		r.want(r.do(p).File, want)
		r.sentByID(sent)
	}
	change("a 1\nb 1\na+b 2\nc 1\nd 1\nb 3\nb+c 4", "2", "2 accepted, 5 duplicates, ended", "b 3, b+c 4")
	change("b 1\na 1\na+b 2\nc 1\nd 1\nb 3\nb+c 4", "3", "7 duplicates, ended", "") // of each the same
	change("b 1\na 0\na+b 2\nc 1\nd 1\nb 3\nb+c 4", "4", "6 accepted, 1 duplicates, ended",
		"b 1, a 0, a+b 2, c 1, b 3, b+c 4")
	change("b 1\na 0\na+b 2\nc 1\nd+e 1\nb 3\nb+c 4", "5", "1 accepted, 6 duplicates, ended", "d+e 1")
	// b's and c's last are none of them now.
	change("b 1\na 0\na+b 2\nc 1\nd+e 1", "6", "4 accepted, 1 duplicates, ended", "b 1, c 1, a 0, a+b 2")
	change("b 1\na 0\na+b 2\nc 1\nd 1", "7", "1 accepted, 4 duplicates, ended", "d 1")
}

// What was sent from a file of a later day makes a record late for the ID that it was about, and
// for no other one; a record about both is late when either is.
func TestTwoIDsLate(t *testing.T) {
	r := newRig(t)
	r.do(r.ordered("2", "2", lines("a new\nc+d new")))
	r.service.take()
	early := r.ordered("1", "1", lines("b past\na+b past\nb passed\na past\nc past\nd+e past\ne past"))
	early.InFlight = 1
	r.want(r.do(early).File, "3 accepted, 4 conflicts, ended")
	r.sentByID("b past, e past, b passed")
}

// A record about two IDs that waits for a person holds up both, in this file and in later ones.
func TestTwoIDsParked(t *testing.T) {
	r := newRig(t)
	r.service.say = func(line string, times int) error {
		if line == "a+b 1" && times == 1 {
			return ErrUnknown
		}
		return nil
	}
	first := r.parked(r.ordered("1", "1", lines("a+b 1\na 2\nc 1")))
	r.want(r.do(first).File, "1 pending, 1 accepted, 1 unknown, open")
	second := r.parked(r.ordered("2", "2", lines("b 3\nb+c 4\nd 1")))
	r.want(r.do(second).File, "2 pending, 1 accepted, open")
	if got := r.service.take(); strings.Contains(got, "b 3") || strings.Contains(got, "a 2") ||
		strings.Contains(got, "c 4") {
		t.Errorf("sent %q", got)
	}
	r.Outbox = r.open()
	if n, err := r.Requeue(t.Context(), ""); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	r.want(r.do(first).File, "3 accepted, 1 doubtful, ended")
	second.InFlight = 1
	r.want(r.do(second).File, "3 accepted, ended")
	r.sent("a+b 1, a 2, b 3, b+c 4")
}

// So many rows with two IDs are an error that says what to do.
func TestTooManyRowsWithTwoIDs(t *testing.T) {
	slow.Test(t)
	r := newRig(t)
	m := &memo{version: "1", age: time.Hour}
	for n := range mostPairs + 1 {
		m.lines = append(m.lines, fmt.Sprintf("a%d+b%d 1", n, n))
	}
	if _, err := Check(t.Context(), r.Outbox, r.ordered("f", "1", m), nil); err == nil ||
		!strings.Contains(err.Error(), "more than 250000 of its rows have two IDs; split the file") {
		t.Error(err)
	}
}
