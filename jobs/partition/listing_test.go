package partition

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/blobsink"
)

// newTarget is a folder's sink, or memory's.
func newTarget(t *testing.T, rawURL string) ledger.Target {
	t.Helper()
	s, err := blobsink.Open(t.Context(), rawURL)
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	return ledger.Target{Name: sinks.Redact(rawURL), Sink: s, Store: s.Store()}
}

// fileOf is a part of a few bytes, which its footer says are ours.
func fileOf(content string) sinks.Part {
	body := content + "reportferry" + "\x0b\x00\x00\x00PAR1"
	return sinks.Part{
		Table: "installs", Partition: date("2026-01-01"), Rows: int64(len(content)), Size: int64(len(body)),
		Hash: content, Run: "run",
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(body)), nil },
	}
}

// publishFile does what a fresh process would do with one partition, the look at the sinks
// included.
func publishFile(t *testing.T, l *ledger.Ledger, content string, again bool, targets ...ledger.Target) (refresh.Reason,
	ledger.State, error) {
	t.Helper()
	table := openAt(t, l, targets...)
	changed, err := table.FindChanged(t.Context())
	check(t, err)
	rules := refresh.Rules{Period: refresh.Day, Page: 7, Start: date("2026-01-01"), Through: date("2026-01-01"),
		Location: time.UTC, Targets: targets, Changed: changed}
	var reason refresh.Reason
	for _, w := range refresh.Plan(moment("2026-02-01T06:00"), rules, table.Records()) {
		reason = w.Due[0].Reason
	}
	part := fileOf(content)
	if content == "" {
		part.Rows = 0
	}
	_, state, err := publishIn(t, table, Publication{
		Part: part, Run: "run", Fetched: moment("2026-02-01T06:00"), Cause: "204", OnEmpty: GuardEmpty, Again: again,
	})
	return reason, state, err
}

// After a crash between a first put and its record, an answer without rows must not be recorded as
// if nothing were there.
func TestAFirstPutIsGuarded(t *testing.T) {
	s := newShelf()
	p := newPublisher(t, ledger.Target{Name: "s", Sink: s})
	s.fail, s.landed = errors.New("killed"), true
	if _, err := p.publish("A", 5, GuardEmpty); err == nil {
		t.Fatal("a killed put gives no error")
	}
	s.fail = nil
	if e := p.recorded(); e.State != ledger.Publishing {
		t.Errorf("after the crash the record is %+v", e)
	}
	if state, err := p.publish("none", 0, GuardEmpty); err != nil || state != ledger.Cleared ||
		s.visible[date("2026-01-01")] != "none" {
		t.Errorf("an empty answer after it: %q, %v, and %v is visible", state, err, s.visible)
	}
	if state, err := p.publish("A", 5, GuardEmpty); err != nil || state != ledger.Written {
		t.Errorf("the next run: %q, %v", state, err)
	}
}

func TestChangedOutside(t *testing.T) {
	l := memLedger(t)
	dir := t.TempDir()
	target := newTarget(t, "file://"+dir)
	path := filepath.Join(dir, "installs/dt=2026-01-01/part-0.parquet")
	read := func() []byte {
		b, err := os.ReadFile(path)
		check(t, err)
		return b
	}
	publish := func(content string, again bool) (refresh.Reason, ledger.State, error) {
		return publishFile(t, l, content, again, target)
	}
	if reason, state, err := publish("A", false); reason != refresh.Missing || state != ledger.Written || err != nil {
		t.Fatal(reason, state, err)
	}
	first := read()
	if reason, state, err := publish("A", false); reason != "" || state != ledger.Unchanged || err != nil {
		t.Errorf("nothing changed: %q %q %v", reason, state, err)
	}
	check(t, os.Remove(path))
	if reason, state, err := publish("A", false); reason != refresh.Changed || state != ledger.Written || err != nil ||
		!bytes.Equal(read(), first) {
		t.Errorf("deleted: %q %q %v", reason, state, err)
	}
	_, _, err := publish("BB", false)
	check(t, err)
	check(t, os.WriteFile(path, first, 0o600)) // restored from a copy
	if reason, state, err := publish("BB", false); reason != refresh.Changed || state != ledger.Written || err != nil ||
		!bytes.Contains(read(), []byte("BB")) {
		t.Errorf("restored: %q %q %v", reason, state, err)
	}
	check(t, os.WriteFile(path, []byte("somebody's own numbers"), 0o600))
	if reason, _, err := publish("BB", false); reason != refresh.Changed || !errors.Is(err, sinks.ErrForeign) ||
		!strings.Contains(err.Error(), "--force") {
		t.Errorf("replaced by hand: %q %v", reason, err)
	}
	if string(read()) != "somebody's own numbers" {
		t.Error("what a person put there is gone")
	}
	if _, state, err := publish("BB", true); state != ledger.Written || err != nil ||
		!bytes.Contains(read(), []byte("BB")) {
		t.Errorf("forced: %q %v", state, err)
	}
	if reason, state, err := publish("BB", false); reason != "" || state != ledger.Unchanged || err != nil {
		t.Errorf("at the end: %q %q %v", reason, state, err)
	}
}

// A ledger that was lost, or never knew: what is there is looked at before it is replaced.
func TestAPartThatNoRecordNames(t *testing.T) {
	dir := t.TempDir()
	target := newTarget(t, "file://"+dir)
	for _, content := range []string{"A", "B"} {
		l := memLedger(t)
		if content == "B" {
			if _, state, err := publishFile(t, l, "", false, target); !errors.Is(err, ErrEmptied) {
				t.Errorf("an empty answer over a part: %q %v", state, err)
			}
		}
		if _, state, err := publishFile(t, l, content, false, target); state != ledger.Written || err != nil {
			t.Errorf("%s: %q %v", content, state, err)
		}
	}
}

// Two writers that both believe they hold a partition: who is late is refused by the store, and
// nobody sees older rows.
func TestALatePutIsRefused(t *testing.T) {
	target := newTarget(t, "file://"+t.TempDir())
	l := memLedger(t)
	_, _, err := publishFile(t, l, "A", false, target)
	check(t, err)

	late := openAt(t, l, target)
	base, _ := late.Record(date("2026-01-01"))
	slept, err := late.Table.Begin(t.Context(), "sleeper", []civil.Date{date("2026-01-01")})
	check(t, err)
	defer func() { check(t, slept.End(context.Background())) }()
	a := &attempt{Publication: &Publication{Base: base, Part: fileOf("late")}, targets: []ledger.Target{target}}
	check(t, late.conditions(t.Context(), a))
	_, _, err = publishFile(t, l, "newer", false, target)
	check(t, err)
	part := fileOf("late")
	part.Over = a.conditions[0]
	if _, err := target.Sink.Put(t.Context(), part); !errors.Is(err, sinks.ErrConflict) {
		t.Errorf("the late put: %v", err)
	}
	r, err := target.Sink.(*blobsink.Sink).Read(t.Context(), "installs", date("2026-01-01"))
	check(t, err)
	body, err := io.ReadAll(r)
	check(t, errors.Join(err, r.Close()))
	if !strings.HasPrefix(string(body), "newer") {
		t.Errorf("readers see %q", body)
	}
	if state, _, err := late.Publish(t.Context(), slept, Publication{Base: base, Part: fileOf("late"),
		Fetched: moment("2026-01-03T06:00")}); !errors.Is(err, ledger.ErrLost) {
		t.Errorf("publishing on an old record: %q %v", state, err)
	}
}
