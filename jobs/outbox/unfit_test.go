package outbox

import (
	"errors"
	"testing"
)

// known is what Files says of the rig's only file.
func (r *rig) known() File {
	r.t.Helper()
	files, err := r.Files(r.t.Context())
	if err != nil || len(files) != 1 {
		r.t.Fatalf("%+v, %v", files, err)
	}
	return files[0]
}

// A file that can't be read as it is, is on record with the reason until it can be, once however
// often it is tried. A store that fails is no fault of the file.
func TestUnfit(t *testing.T) {
	r := newRig(t)
	m := lines("a 1\nb 2")
	try := func(end error) {
		t.Helper()
		m.end = end
		if _, err := doFile(t.Context(), r.Outbox, r.push("f", m)); !errors.Is(err, end) {
			t.Fatal(err)
		}
	}
	try(errDown)
	if files, err := r.Files(t.Context()); err != nil || len(files) != 0 {
		t.Fatalf("%+v, %v", files, err)
	}
	cut := &UnfitError{errors.New("is cut after row 2")}
	for range 2 {
		try(cut)
		if f := r.known(); f.Error != "is cut after row 2" || f.Name != "f" || !f.Open() || f.Version != "1" ||
			f.Begun() {
			t.Errorf("%+v", f)
		}
	}
	try(errDown)
	if f := r.known(); f.Error != "is cut after row 2" {
		t.Errorf("the reason went when the store failed: %+v", f)
	}
	r.sent("")
	m.end = nil
	r.want(r.do(r.push("f", m)).File, "2 accepted, ended")
	if f := r.known(); f.Error != "" {
		t.Errorf("%+v", f)
	}
	// What was pushed comes back after a file that couldn't be read.
	m.version = "2"
	try(cut)
	if files, err := r.Files(t.Context()); err != nil || len(files) != 2 || files[0].Error == "" ||
		files[1].Accepted != 2 {
		t.Fatalf("%+v, %v", files, err)
	}
	m.version, m.end = "3", nil
	if report := r.do(r.push("f", m)); !report.Same {
		t.Errorf("%+v", report)
	}
	if f := r.known(); f.Error != "" || f.Accepted != 2 {
		t.Errorf("%+v", f)
	}
	r.service.take()
}

// A file of which some was sent when its rejects are too many says why it was left, until it goes
// on. The rejects are told.
func TestLeftReason(t *testing.T) {
	r := newRig(t)
	r.service.say = func(line string, times int) error {
		if times == 1 && line != "a 1" {
			return errDown
		}
		return nil
	}
	p := r.push("f", lines("a 1\nb 2\n# c\n# d"))
	if _, err := doFile(t.Context(), r.Outbox, p); !errors.Is(err, errDown) {
		t.Fatal(err)
	}
	p.MaxRejects = &Most{Count: 1}
	for range 2 {
		if _, err := doFile(t.Context(), r.Outbox, p); !errors.Is(err, ErrTooMany) {
			t.Fatal(err)
		}
		f := r.known()
		if r.want(f, "1 pending, 1 accepted, 2 refused, open"); f.Error !=
			"too many rejects: 2 of 4 rows, the limit is 1" || f.Rejects != "f.rejects.csv" || !f.Begun() {
			t.Errorf("%+v", f)
		}
	}
	p.MaxRejects = nil
	r.do(p)
	f := r.known()
	if f.Error != "" || f.Open() {
		t.Errorf("%+v", f)
	}
	r.want(f, "2 accepted, 2 refused, ended")
}

// Right rows are sent, whatever becomes of the others: only a file that looks like one of another
// kind is held back. What the service refuses, what was sent with other content and what comes too
// late was right when it was written.
func TestRightRowsAreSent(t *testing.T) {
	r := newRig(t)
	r.do(r.push("before", lines("x 1\ny 1")))
	r.service.take()
	r.service.say = func(line string, _ int) error {
		if line != "d 4" {
			return &Rejection{"", "the service answered 400"}
		}
		return nil
	}
	p := r.push("f", lines("a 1\nx 2\ny 2\nb old\nc old\n# no\nb 2\nc 3\nd 4"))
	p.MaxRejects = &Most{Count: 1}
	r.want(r.do(p).File, "1 accepted, 3 rejected, 3 refused, 2 conflicts, ended")
	r.sent("a 1, b 2, c 3, d 4")
}
