package report_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"
	"github.com/klauspost/compress/zstd"
	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/ledger/ledgertest"
	"github.com/reportferry/reportferry/jobs/raw"
)

// A scribe writes down every whole answer to a report's query, as it came.
type scribe struct {
	next http.RoundTripper

	mu      sync.Mutex
	answers map[string]bool
}

func (s *scribe) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.next.RoundTrip(r)
	if err != nil || !strings.HasSuffix(r.URL.Path, "/csv_report") || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	packed, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(packed), broken{err}))
	unpacked := io.Reader(bytes.NewReader(packed))
	switch coding := resp.Header.Get("Content-Encoding"); {
	case err != nil:
	case coding == "gzip":
		unpacked, err = gzip.NewReader(unpacked)
	case coding == "zstd":
		unpacked, err = zstd.NewReader(unpacked, zstd.WithDecoderConcurrency(1))
	}
	if err != nil {
		return resp, nil
	}
	if text, err := io.ReadAll(unpacked); err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.answers[string(text)] = true
	}
	return resp, nil
}

// broken is the end of an answer: io.EOF, or what broke it.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) {
	if b.err == nil {
		return 0, io.EOF
	}
	return 0, b.err
}

// keeping gives the rig a store of raw answers in a bucket.
func keeping(r *rig, b *blob.Bucket, must bool) *raw.Store {
	r.options.Raw = raw.Open(raw.Options{Bucket: b, URL: "mem://raw", Table: r.options.Table, Must: must})
	return r.options.Raw
}

// records are those of the rig's table, by partition.
func (r *rig) records() ledger.Records {
	r.t.Helper()
	table, err := r.ledger.Table(r.t.Context(), r.options.Table)
	check(r.t, err)
	return table.Records()
}

// objects counts what a bucket holds.
func objects(t *testing.T, b *blob.Bucket) (n int) {
	t.Helper()
	for it := b.List(nil); ; n++ {
		if _, err := it.Next(t.Context()); errors.Is(err, io.EOF) {
			return n
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// What the records name is what the service said, to the byte, however often it broke off before;
// and nothing else is kept.
func TestRawAnswers(t *testing.T) {
	for name, pieces := range map[string]bool{"windows": false, "app by app": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var cuts []emulator.Fault
				for nth := 1; nth < 40; nth += 3 {
					cuts = append(cuts, emulator.Fault{Nth: nth, Kind: emulator.FaultCut,
						AfterBytes: int64(9000 - 200*nth)})
				}
				o := emulator.Options{Seed: 7, Apps: 5, Rate: -1, Faults: cuts}
				if pieces {
					o.MaxPairs = 2
				}
				r := newRig(t, o)
				defer r.close()
				s := &scribe{next: r.client.HTTP.Transport, answers: map[string]bool{}}
				r.client.HTTP = &http.Client{Transport: s}
				var tokens []string
				for _, app := range r.server.Apps() {
					tokens = append(tokens, app.Token)
				}
				r.options.Query.Filters = map[string][]string{"app_token__in": tokens}
				bucket := memblob.OpenBucket(nil)
				store := keeping(r, bucket, true)
				r.start(9)
				if res := r.ok(); res.Outcome.Written != 9 || res.Outcome.Retries == 0 || res.Outcome.Unkept != 0 {
					t.Errorf("%+v", res.Outcome)
				}
				lines, rows, named := 0, 0, map[string]bool{}
				for day, e := range r.records() {
					if len(e.Raw) == 0 || pieces != (len(e.Raw) > 1) {
						t.Errorf("%s names %q", day, e.Raw)
					}
					rows += int(e.Rows)
					for _, key := range e.Raw {
						if named[key] {
							continue
						}
						named[key] = true
						a, err := store.Open(t.Context(), key)
						check(t, err)
						text, err := io.ReadAll(a)
						check(t, err)
						if !s.answers[string(text)] {
							t.Errorf("%s: the service never said this: %.100q", key, text)
						}
						if day.Before(a.From) || !day.Before(a.Until) ||
							!strings.Contains(a.Query, "date_period="+a.From.String()) {
							t.Errorf("%s is of %s until %s: %s", day, a.From, a.Until, a.Query)
						}
						if strings.Contains(a.Query, "test") || a.Status != http.StatusOK || a.Headers["Date"] == "" {
							t.Errorf("%+v", a.Meta)
						}
						table, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
						check(t, err)
						lines += len(table) - 1
						check(t, a.Close())
					}
				}
				if lines != rows {
					t.Errorf("%d rows are kept and %d recorded", lines, rows)
				}
				if n := objects(t, bucket); n != len(named) {
					t.Errorf("%d objects, %d named", n, len(named))
				}
			})
		})
	}
}

// A store that takes nothing costs the run no partition, and the run says so, unless the copies
// must be kept: then the old rows stay.
func TestRawAnswersAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		must  bool
		err   error
		exits int
	}{
		"a fault":           {false, errors.New("no room"), jobs.ExitSome},
		"a right":           {false, fs.ErrPermission, jobs.ExitSome},
		"a fault, required": {true, errors.New("no room"), jobs.ExitFailed},
		"a right, required": {true, fs.ErrPermission, jobs.ExitDenied},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, emulator.Options{Seed: 7, Apps: 2, Rate: -1})
				defer r.close()
				r.from(civil.DateOf(time.Now()).AddDays(-9))
				r.ok()
				before := r.files()
				fetched := r.records()
				time.Sleep(24 * time.Hour) // the numbers of the last days change
				store := &ledgertest.Store{Memory: &bucket.Memory{}, Answer: func(string, error) error { return c.err }}
				keeping(r, store.Open().Blob(), c.must)
				res := r.run(t.Context())
				if code := jobs.ExitCode([]ledger.Result{res}, false, false); code != c.exits {
					t.Errorf("exit code %d, want %d: %v", code, c.exits, res.Errs)
				}
				var keep *raw.KeepError
				if c.must {
					if err := errors.Join(res.Errs...); !errors.As(err, &keep) || res.Outcome.Written > 0 ||
						res.Outcome.Failed == 0 {
						t.Errorf("%+v: %v", res.Outcome, err)
					}
					for day, was := range before {
						if r.files()[day] != was || r.records()[day].Seq != fetched[day].Seq {
							t.Errorf("%s was replaced", day)
						}
					}
					return
				}
				if len(res.Errs) > 0 || res.Outcome.Unkept == 0 || res.Outcome.Written == 0 || res.Outcome.Failed > 0 {
					t.Errorf("%+v: %v", res.Outcome, res.Errs)
				}
				for day, e := range r.records() {
					if len(e.Raw) > 0 {
						t.Errorf("%s names %q", day, e.Raw)
					}
				}
			})
		})
	}
}

// Of a day in pieces that lacks the copy of one, none is named: rows made of the others would be
// missing some.
func TestRawAnswersOfPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 7, Apps: 5, Rate: -1, MaxPairs: 2})
		defer r.close()
		var tokens []string
		for _, app := range r.server.Apps() {
			tokens = append(tokens, app.Token)
		}
		r.options.Query.Filters = map[string][]string{"app_token__in": tokens}
		n := 0
		store := &ledgertest.Store{Memory: &bucket.Memory{}, Answer: func(_ string, err error) error {
			if n++; n == 2 {
				return errors.New("no room")
			}
			return err
		}}
		keeping(r, store.Open().Blob(), false)
		r.start(3)
		res := r.ok()
		unnamed := 0
		for _, e := range r.records() {
			if len(e.Raw) == 0 {
				unnamed++
			}
		}
		if res.Outcome.Unkept != 1 || res.Outcome.Written != 3 || unnamed != 1 {
			t.Errorf("%+v, and %d days name no answer", res.Outcome, unnamed)
		}
	})
}

// An answer that says that there is nothing is kept too, and named by the records of the days it
// was asked about.
func TestRawAnswersOfNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 7, Apps: 1, Days: 3, Rate: -1, Readings: []string{"report-empty=204"}})
		defer r.close()
		store := keeping(r, memblob.OpenBucket(nil), true)
		r.start(20) // the service has data for the last three only
		r.ok()
		nothing := 0
		for day, e := range r.records() {
			if e.Cause != "204" {
				continue
			}
			nothing++
			if len(e.Raw) != 1 {
				t.Fatalf("%s names %q", day, e.Raw)
			}
			a, err := store.Open(context.Background(), e.Raw[0])
			check(t, err)
			if text, err := io.ReadAll(a); err != nil || len(text) > 0 || !a.Empty() {
				t.Errorf("%q, %v, %+v", text, err, a.Meta)
			}
			check(t, a.Close())
		}
		if nothing == 0 {
			t.Error("no answer was a 204")
		}
	})
}

// The run sweeps what is older than it is kept.
func TestRawAnswersAreSwept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 7, Apps: 2, Rate: -1})
		defer r.close()
		bucket := memblob.OpenBucket(nil)
		r.options.Raw = raw.Open(raw.Options{Bucket: bucket, URL: "mem://raw", Table: r.options.Table,
			Keep: 48 * time.Hour})
		r.from(civil.DateOf(time.Now()).AddDays(-9))
		r.ok()
		first := objects(t, bucket)
		for range 3 {
			time.Sleep(24 * time.Hour)
			r.ok()
		}
		left := 0
		for it := bucket.List(nil); ; left++ {
			o, err := it.Next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			check(t, err)
			a, err := r.options.Raw.Open(t.Context(), o.Key)
			check(t, err)
			if age := time.Since(a.Fetched); age > 49*time.Hour {
				t.Errorf("%s is %v old", o.Key, age)
			}
			check(t, a.Close())
		}
		if first == 0 || left == 0 {
			t.Errorf("%d objects, then %d", first, left)
		}
	})
}
