package raw

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"
	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/jobs/ledger/ledgertest"
)

var errRefused = errors.New("no room")

// trouble is the driver of a bucket that takes so many bytes of each object and then fails, or
// takes nothing more.
type trouble struct {
	driver.Bucket
	takes int
	hangs bool
	deaf  chan struct{} // while it is open, a writer that hangs doesn't hear of the end of its context
	open  error

	published, freed *int // writers that were closed, before and after the end of their context
}

func (d trouble) ErrorCode(error) gcerrors.ErrorCode { return gcerrors.Unknown }
func (d trouble) Close() error                       { return nil }
func (d trouble) NewTypedWriter(ctx context.Context, _, _ string, _ *driver.WriterOptions) (driver.Writer, error) {
	if d.open != nil {
		return nil, d.open
	}
	return &troubled{d, ctx, 0}, nil
}

type troubled struct {
	trouble
	ctx context.Context
	n   int
}

func (w *troubled) Write(p []byte) (int, error) {
	if w.n += len(p); w.n <= w.takes {
		return len(p), nil
	}
	if w.deaf != nil {
		<-w.deaf
		return len(p), nil
	}
	if w.hangs {
		<-w.ctx.Done()
		return 0, w.ctx.Err()
	}
	return 0, errRefused
}

func (w *troubled) Close() error {
	switch {
	case w.published == nil:
	case w.ctx.Err() == nil:
		*w.published++
	default:
		*w.freed++
	}
	if w.ctx.Err() == nil && w.hangs {
		<-w.ctx.Done()
	}
	return errors.Join(w.ctx.Err(), errRefused)
}

// A store that fails, wherever it does, changes nothing of what the answer's reader gets, and
// Commit says what was wrong.
func TestStoreFails(t *testing.T) {
	content := rows(3 << 20)
	for _, d := range []trouble{{open: errRefused}, {takes: 0}, {takes: 1000}, {takes: 200_000}, {takes: 100 << 20}} {
		d.published, d.freed = new(int), new(int)
		s := Open(Options{Bucket: blob.NewBucket(d), URL: "made://up", Table: "daily"})
		k := s.Keep(t.Context(), question)
		got, err := io.ReadAll(k.Tee(bytes.NewReader(content)))
		if err != nil || !bytes.Equal(got, content) {
			t.Fatalf("%+v: %d bytes, %v", d, len(got), err)
		}
		key, err := k.Commit(accepted(content))
		var keep *KeepError
		if key != "" || !errors.As(err, &keep) || !errors.Is(err, errRefused) ||
			!strings.Contains(err.Error(), "made://up/daily/2026-03-01_2026-03-08/") {
			t.Errorf("%+v: %q, %v", d, key, err)
		}
		k.Abort()
		if whole := d.takes > len(content); (*d.published > 0) != whole || *d.published+*d.freed > 1 {
			t.Errorf("%+v: %d published, %d freed", d, *d.published, *d.freed)
		}
	}
}

// A store that hangs costs the first answer its patience, and later ones little, also at the end of
// an answer.
func TestStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, takes := range []int{0, 200_000, 100 << 20} {
			s := Open(Options{Bucket: blob.NewBucket(trouble{takes: takes, hangs: true}), URL: "made://up",
				Table: "daily"})
			for i, most := range []time.Duration{commitWaits * patience, commitWaits * shortPatience,
				commitWaits * shortPatience} {
				began := time.Now()
				content := rows(3 << 20)
				k := s.Keep(t.Context(), question)
				if got, err := io.ReadAll(k.Tee(bytes.NewReader(content))); err != nil || !bytes.Equal(got, content) {
					t.Fatalf("%d bytes, %v", len(got), err)
				}
				_, err := k.Commit(accepted(content))
				if !errors.Is(err, errStuck) || time.Since(began) > most {
					t.Errorf("%d taken, answer %d: %v after %v", takes, i, err, time.Since(began))
				}
			}
		}
	})
}

// A store that hears of nothing is left alone, and what it took in the end isn't published.
func TestStoreIsDeaf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := trouble{deaf: make(chan struct{}), published: new(int), freed: new(int)}
		k := Open(Options{Bucket: blob.NewBucket(d), Table: "daily"}).Keep(t.Context(), question)
		_, _ = io.Copy(io.Discard, k.Tee(bytes.NewReader(rows(1000))))
		began := time.Now()
		if _, err := k.Commit(accepted(rows(1000))); !errors.Is(err, errStuck) ||
			time.Since(began) > 2*commitWaits*patience {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		close(d.deaf)
		synctest.Wait()
		if *d.published > 0 || *d.freed != 1 {
			t.Errorf("%d published, %d freed", *d.published, *d.freed)
		}
	})
}

// The end of the run ends the copy.
func TestStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		s := Open(Options{Bucket: blob.NewBucket(trouble{hangs: true}), Table: "daily"})
		k := s.Keep(ctx, question)
		time.AfterFunc(time.Second, stop)
		began := time.Now()
		_, _ = io.Copy(io.Discard, k.Tee(bytes.NewReader(rows(1<<20))))
		if _, err := k.Commit(accepted(nil)); !errors.Is(err, context.Canceled) || time.Since(began) > time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// A store that doesn't answer, or answers half, is no damage: nothing is wrong with the object.
func TestReadFails(t *testing.T) {
	memory := &bucket.Memory{}
	behind := memory.Blob()
	ok := Open(Options{Bucket: behind, Table: "daily"})
	content := rows(3 << 20)
	key := keep(t, ok, content)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	store := &ledgertest.Store{Memory: memory}
	r, err := Open(Options{Bucket: store.Open().Blob(), Table: "daily"}).Open(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // it was read
	r.from.from = io.MultiReader(io.LimitReader(r.from.from, 100_000), failing{})
	var damaged *DamagedError
	if n, err := io.Copy(io.Discard, r); !errors.Is(err, errRefused) || errors.As(err, &damaged) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errRefused }

// Sweeping takes what is old by its name, in a folder and in a bucket, and nothing else.
func TestSweep(t *testing.T) {
	now := time.Date(2027, 6, 1, 5, 0, 0, 0, time.UTC)
	bucket, b := memory(t)
	local, dir := folder(t)
	for _, s := range []*Store{bucket, local} {
		var want []string
		put := func(key string, old bool) {
			t.Helper()
			if err := s.o.Bucket.WriteAll(t.Context(), key, []byte("x"), nil); err != nil {
				t.Fatal(err)
			}
			if !old {
				want = append(want, key)
			}
		}
		put("daily/notes.txt", false)
		put("daily2/2026-01-01_2026-01-08/20260109T040000.000Z-A.csv.zst", false) // another table's
		for age := range 500 {
			day := now.AddDate(0, 0, -age)
			r := Request{From: civil.DateOf(day.AddDate(0, 0, -7)), Until: civil.DateOf(day)}
			put(s.newKey(r, day), age > 400)
			if age%50 == 0 { // an old day asked for again
				put(s.newKey(r, now.Add(-time.Hour)), false)
			}
		}
		s.o.Keep = 400 * 24 * time.Hour
		n, err := s.Sweep(t.Context(), now)
		if err != nil || n != 99 {
			t.Errorf("%d are swept: %v", n, err)
		}
		if got := keys(t, s.o.Bucket); len(got) != len(want) {
			t.Errorf("%d are left, want %d", len(got), len(want))
		}
		for _, key := range want {
			if there, err := s.o.Bucket.Exists(t.Context(), key); !there {
				t.Errorf("%s is gone: %v", key, err)
			}
		}
		s.o.Keep = 0
		if n, err := s.Sweep(t.Context(), now.AddDate(9, 0, 0)); n != 0 || err != nil {
			t.Errorf("for ever: %d, %v", n, err)
		}
	}
	if n, err := (*Store)(nil).Sweep(t.Context(), now); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	_ = b
	temporary := filepath.Join(dir, filepath.FromSlash(local.newKey(question, now.AddDate(0, 0, -2))+".18a1.tmp"))
	running := filepath.Join(dir, filepath.FromSlash(local.newKey(question, now.Add(-time.Hour))+".18a2.tmp"))
	for _, path := range []string{temporary, running} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := local.Sweep(t.Context(), now); n != 1 || err != nil {
		t.Errorf("what killed writers left: %d, %v", n, err)
	}
	if _, err := os.Stat(temporary); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := os.Stat(running); err != nil {
		t.Error(err)
	}
}

// A night deletes so many and no more, with a listing that doesn't grow with what is kept.
func TestSweepIsBounded(t *testing.T) {
	memory := &bucket.Memory{}
	behind := memory.Blob()
	store := &ledgertest.Store{Memory: memory}
	s := Open(Options{Bucket: store.Open().Blob(), Table: "daily", Keep: 499*24*time.Hour + time.Hour})
	now := time.Date(2027, 6, 1, 5, 0, 0, 0, time.UTC)
	for i := range 6000 {
		day := now.AddDate(0, 0, -i%1000)
		key := s.newKey(Request{From: civil.DateOf(day), Until: civil.DateOf(day)}, day)
		if err := behind.WriteAll(t.Context(), key, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	lists := 0
	store.Before = func(call, _ string) {
		if call == "list" {
			lists++
		}
	}
	for _, want := range []int{1000, 1000, 1000, 0} {
		if n, err := s.Sweep(t.Context(), now); n != want || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if lists > 2+2+2+1 {
		t.Errorf("%d lists", lists)
	}
	if n := len(keys(t, behind)); n != 3000 {
		t.Errorf("%d are left", n)
	}
}

// FuzzOpen gives the reader objects of anybody's making: it must not break, and what it gives
// without an error is what the object says of itself.
func FuzzOpen(f *testing.F) {
	s, b := memory(f)
	for _, size := range []int{1, 1000} {
		object, err := b.ReadAll(context.Background(), Key(keep(f, s, rows(size))))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(object, 0)
		f.Add(object, 20)
	}
	f.Add([]byte{}, 0)
	f.Fuzz(func(t *testing.T, object []byte, at int) {
		if at > 0 && at < len(object) { // an honest end behind anything
			m := Meta{question, Answer{Status: http.StatusOK, Bytes: int64(at)}}
			tail, err := frame(m)
			if err != nil {
				t.Fatal(err)
			}
			object = append(object[:at:at], tail...)
		}
		if err := b.WriteAll(t.Context(), "daily/x", object, nil); err != nil {
			t.Fatal(err)
		}
		r, err := s.Open(t.Context(), "daily/x")
		if err != nil {
			return
		}
		defer r.Close() //nolint:errcheck // it was read
		content, err := io.ReadAll(r)
		if err == nil && int64(len(content)) != r.Bytes {
			t.Errorf("%d bytes, said to be %d", len(content), r.Bytes)
		}
		var damaged *DamagedError
		if err != nil && !errors.As(err, &damaged) {
			t.Error(fmt.Errorf("not damage: %w", err))
		}
	})
}
