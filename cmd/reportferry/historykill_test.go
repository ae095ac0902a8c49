package main

import (
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"
	"gocloud.dev/blob/fileblob"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/raw"
)

// The service restates days, the program is killed while it fetches them again, and runs anew:
// night after night in one place, with raw answers, history and the watch over finals. Its table
// equals that of a place where nobody kills, and so does its history: every content that a reader
// ever found in the bucket is a line of it, once and in order.
func TestKilledWhileItKeepsHistory(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := startService(t, "--apps", "2", "--days", "40", "--latency", "20ms")
	const days = 21
	killed, whole := newPlace(t, s, days, 1, living), newPlace(t, s, days, 1, living)
	seen := sightings{}
	for _, p := range []*place{killed, whole} {
		p.edit(t, "lookback: 0",
			"lookback: 5\n    final_after: 5d\n    drift: 90d\n    raw: file://"+p.dir+"/raw\n    raw_required: true")
		if out, code := p.run("run"); code != 0 {
			t.Fatalf("exit code %d: %s", code, out)
		}
	}
	seen.look(killed, nil)
	t.Logf("seed %d, %d kills", *killSeed, *kills)
	dice := rand.New(rand.NewPCG(*killSeed, 18))
	partly, took := 0, 2*time.Second
	for i := range *kills {
		restate(t, s, dice, days)
		after := time.Duration(dice.Int64N(int64(took)))
		killed.leases(dying)
		cmd, _ := killed.command(t.Context(), "run")
		check(t, cmd.Start())
		time.Sleep(after)
		check(t, cmd.Process.Kill())
		_ = cmd.Wait() // killed
		doubted := killed.doubted()
		if seen.look(killed, doubted) > 0 {
			partly++
		}
		if dice.IntN(2) == 0 { // the next run finds yet another truth than the one that was killed
			restate(t, s, dice, days)
		}
		killed.untilDone()
		began := time.Now()
		if out, code := whole.run("run"); code != 0 {
			t.Fatalf("exit code %d: %s", code, out)
		}
		took = time.Since(began)
		killed.same(whole.files())
		if seen.look(killed, nil); t.Failed() {
			t.Fatalf("after kill %d, %v after the start", i, after)
		}
	}
	lines := killed.historyIs(seen)
	t.Logf("%d of %d kills hit a run that had put something; %d lines of history", partly, *kills, lines)
	out, code := killed.run("check")
	if code != 0 {
		t.Errorf("check ends with %d: %s", code, out)
	}
}

// restate changes some metrics of some days at the service.
func restate(t *testing.T, s *service, dice *rand.Rand, days int) {
	t.Helper()
	var list []emulator.Restatement
	for range 1 + dice.IntN(3) {
		from := time.Now().UTC().AddDate(0, 0, -1-dice.IntN(days))
		list = append(list, emulator.Restatement{
			Day: from.Format(time.DateOnly), Until: from.AddDate(0, 0, dice.IntN(days)).Format(time.DateOnly),
			Metric: []string{"installs", "clicks", "cost", "revenue"}[dice.IntN(4)],
			Factor: float64(101+dice.IntN(80)) / 100,
		})
	}
	s.admin(t, http.MethodPost, "restatements", list)
}

// Sightings are the content hashes that each day's part was seen with, one after the other. One may
// be missing in history: its put wasn't recorded when the run was killed, and the next run found
// another truth.
type sightings map[string][]sighting

type sighting struct {
	hash  string
	maybe bool
}

// look reads what is in the bucket now, and counts what is new.
func (s sightings) look(p *place, doubted map[string]bool) (news int) {
	p.t.Helper()
	t := p.table()
	shape, _, err := t.LastShape(p.t.Context())
	check(p.t, err)
	var columns []table.Column
	for _, c := range shape.Columns {
		var typ catalog.Type
		check(p.t, typ.UnmarshalText([]byte(c.Type)))
		columns = append(columns, table.Column{Name: c.Name, Type: typ})
	}
	for name := range p.files() {
		file, err := os.Open(filepath.Join(p.dir, name))
		check(p.t, err)
		info, err := file.Stat()
		check(p.t, err)
		_, hash, err := table.Measure(p.t.Context(), file, info.Size(), columns)
		check(p.t, errors.Join(err, file.Close()))
		day := strings.TrimPrefix(filepath.Base(filepath.Dir(name)), "dt=")
		list := s[day]
		if n := len(list); n > 0 && list[n-1].hash == hash {
			list[n-1].maybe = list[n-1].maybe && doubted[day]
			continue
		}
		news++
		s[day] = append(list, sighting{hash, doubted[day]})
	}
	return news
}

// doubted are the days of which a put was under way, or may have been: those in doubt, and those
// whose lease the killed run has left and that isn't over yet.
func (p *place) doubted() map[string]bool {
	p.t.Helper()
	all, t := map[string]bool{}, p.table()
	for _, e := range t.Records() {
		all[e.Partition.String()] = e.State == ledger.Publishing
	}
	for day := range t.Holders() {
		all[day.String()] = true
	}
	return all
}

// table reads the ledger of the place, as the program would.
func (p *place) table() *ledger.Table {
	p.t.Helper()
	dir := filepath.Join(p.dir, "ledger")
	store, err := bucket.Open(p.t.Context(), "file://"+dir)
	check(p.t, err)
	l := ledger.Open(ledger.Options{Store: store, URL: "file://" + dir})
	p.t.Cleanup(func() { check(p.t, l.Close()) })
	table, err := l.Table(p.t.Context(), "installs")
	check(p.t, err)
	return table
}

// historyIs compares the history of every day with what was seen of it, and reads the raw answers
// that it names. It counts the lines.
func (p *place) historyIs(seen sightings) (lines int) {
	p.t.Helper()
	bucket, err := fileblob.OpenBucket(filepath.Join(p.dir, "raw"), nil)
	check(p.t, err)
	defer func() { check(p.t, bucket.Close()) }()
	answers := raw.Open(raw.Options{Bucket: bucket, URL: "raw", Table: "installs"})
	history, err := p.table().History(p.t.Context(), civil.Date{}, civil.Date{})
	check(p.t, err)
	byDay := map[string][]ledger.Record{}
	for _, e := range history {
		byDay[e.Partition.String()] = append(byDay[e.Partition.String()], e)
		for _, key := range e.Raw {
			r, err := answers.Open(p.t.Context(), key)
			if err == nil {
				_, err = io.Copy(io.Discard, r)
				err = errors.Join(err, r.Close())
			}
			if err != nil {
				p.t.Errorf("%s, number %d: %v", e.Partition, e.Seq, err)
			}
		}
		if len(e.Raw) == 0 {
			p.t.Errorf("%s, number %d names no raw answer", e.Partition, e.Seq)
		}
	}
	for _, day := range slices.Sorted(maps.Keys(seen)) {
		left := byDay[day]
		for _, s := range seen[day] {
			if len(left) > 0 && left[0].Hash == s.hash {
				left = left[1:]
			} else if !s.maybe {
				p.t.Errorf("%s: content %s was visible, and isn't where it should be among %d lines of history", day,
					s.hash, len(byDay[day]))
			}
		}
		for _, e := range left {
			p.t.Errorf("%s: number %d of history was never visible, or is doubled: %s", day, e.Seq, e.Hash)
		}
	}
	return len(history)
}
