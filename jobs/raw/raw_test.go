package raw

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"cloud.google.com/go/civil"
	"github.com/klauspost/compress/zstd"
	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"

	"github.com/reportferry/reportferry/internal/bucket"
)

func memory(t testing.TB) (*Store, *blob.Bucket) {
	t.Helper()
	b := memblob.OpenBucket(nil)
	t.Cleanup(func() { _ = b.Close() })
	return Open(Options{Bucket: b, URL: "mem://", Table: "daily", Tool: "reportferry/test"}), b
}

func folder(t testing.TB) (*Store, string) {
	t.Helper()
	dir := t.TempDir()
	b, err := bucket.Open(t.Context(), "file://"+dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return Open(Options{Bucket: b.Blob(), URL: "file://" + dir, Dir: dir, Table: "daily"}), dir
}

var (
	march    = civil.Date{Year: 2026, Month: time.March, Day: 1}
	question = Request{From: march, Until: march.AddDays(7), Query: "date_period=2026-03-01%3A2026-03-07&metrics=cost"}
)

// rows is a CSV of about n bytes.
func rows(n int) []byte {
	r := rand.New(rand.NewPCG(uint64(n), 7))
	b := []byte("day,network,cost\n")
	for len(b) < n {
		b = append(b, "2026-03-0"...)
		b = append(b, byte('1'+r.IntN(7)), ',', byte('a'+r.IntN(20)), ',', byte('0'+r.IntN(10)), '.',
			byte('0'+r.IntN(10)), '\n')
	}
	return b
}

// keep keeps one answer, read in pieces of any size.
func keep(t testing.TB, s *Store, content []byte) string {
	t.Helper()
	k := s.Keep(t.Context(), question)
	defer k.Abort()
	got, err := io.ReadAll(iotest.HalfReader(k.Tee(bytes.NewReader(content))))
	if err != nil || !bytes.Equal(got, content) {
		t.Fatalf("the answer itself isn't the same: %v", err)
	}
	key, err := k.Commit(accepted(content))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func accepted(content []byte) Answer {
	return Answer{
		Status: http.StatusOK, Bytes: int64(len(content)), Fetched: time.Date(2026, 3, 9, 4, 0, 0, 0, time.UTC),
		Headers: OfUse(http.Header{"Date": {"Mon, 09 Mar 2026 04:00:01 GMT"}, "Set-Cookie": {"a=b"},
			"X-Request-Id": {"17"}}),
	}
}

func keys(t testing.TB, b *blob.Bucket) (all []string) {
	t.Helper()
	for it := b.List(nil); ; {
		o, err := it.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, o.Key)
	}
}

// What is kept is what was read, with what was asked and answered, in answers of all sizes around
// those of a piece.
func TestKeepAndOpen(t *testing.T) {
	s, b := memory(t)
	for _, size := range []int{1, 17, 1000, pieceSize - 1, pieceSize, pieceSize + 1, 3*pieceSize + 7, 2 << 20} {
		content := rows(size)
		key := keep(t, s, content)
		if !strings.HasPrefix(key, "daily/2026-03-01_2026-03-08/") {
			t.Errorf("the key is %s", key)
		}
		r, err := s.Open(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("of %d bytes come back %d: %v", len(content), len(got), err)
		}
		sum := sha256.Sum256(content)
		want := accepted(content)
		if r.Table != "daily" || r.Tool != "reportferry/test" || r.From != question.From || r.Until != question.Until ||
			r.Query != question.Query ||
			r.SHA256 != hex.EncodeToString(sum[:]) || r.Bytes != want.Bytes || r.Status != http.StatusOK ||
			!r.Fetched.Equal(want.Fetched) {
			t.Errorf("it says %+v", r.Meta)
		}
		if len(r.Headers) != 2 || r.Headers["X-Request-Id"] != "17" {
			t.Errorf("its headers are %v", r.Headers)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := len(keys(t, b)); n != 8 {
		t.Errorf("there are %d objects", n)
	}
}

// An answer without content is an object too, so that it can be told from one that is missing.
func TestKeepNothing(t *testing.T) {
	s, _ := memory(t)
	k := s.Keep(t.Context(), question)
	key, err := k.Commit(Answer{Status: http.StatusNoContent})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || len(got) > 0 || !r.Empty() {
		t.Errorf("%q, %v, %v", got, err, r.Empty())
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	_, err = s.Open(t.Context(), Key(key)+"x")
	var damaged *DamagedError
	if !errors.As(err, &damaged) || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), Key(key)+"x") {
		t.Errorf("a missing one: %v", err)
	}
}

// Of an answer that breaks and is asked for again, only the last attempt is there. Nothing is there
// of one that was given up.
func TestAttempts(t *testing.T) {
	s, dir := folder(t)
	content := rows(300_000)
	k := s.Keep(t.Context(), question)
	for range 3 {
		_, _ = io.CopyN(io.Discard, k.Tee(bytes.NewReader(content)), 200_000)
	}
	if _, err := io.Copy(io.Discard, k.Tee(bytes.NewReader(content[:1000]))); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Commit(Answer{Status: http.StatusOK, Bytes: 1000}); err != nil {
		t.Fatal(err)
	}
	k.Abort() // does no harm
	given := s.Keep(t.Context(), question)
	_, _ = io.Copy(io.Discard, given.Tee(bytes.NewReader(content)))
	given.Abort()
	half := s.Keep(t.Context(), question)
	_, _ = io.Copy(io.Discard, half.Tee(bytes.NewReader(content[:1000])))
	if key, err := half.Commit(Answer{Status: http.StatusOK, Bytes: 1001}); err == nil {
		t.Errorf("a copy that lacks a byte is kept as %s", key)
	}
	late := s.Keep(t.Context(), question) // its second attempt says that there is nothing
	_, _ = io.Copy(io.Discard, late.Tee(bytes.NewReader(content)))
	key, err := late.Commit(Answer{Status: http.StatusNoContent})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := s.Open(t.Context(), key); err != nil || r.Bytes != 0 || r.Close() != nil {
		t.Errorf("%v", err)
	}
	var files []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		if !d.IsDir() {
			files = append(files, path)
		}
		return nil
	})
	if len(files) != 2 {
		t.Errorf("there are %q", files)
	}
}

// Whatever byte of an object is another one, whatever is cut off: it is an error that names the
// object. A flipped bit of the compressed rows may mean nothing; then they are what they were.
func TestDamage(t *testing.T) {
	s, b := memory(t)
	content := rows(3000)
	key := keep(t, s, content)
	whole, err := b.ReadAll(t.Context(), Key(key))
	if err != nil {
		t.Fatal(err)
	}
	tail, err := frameSize(whole)
	if err != nil {
		t.Fatal(err)
	}
	said := len(whole) - int(tail)
	read := func(what string, at int, object []byte) {
		t.Helper()
		if err := b.WriteAll(t.Context(), Key(key), object, nil); err != nil {
			t.Fatal(err)
		}
		var got []byte
		r, err := s.Open(t.Context(), key)
		if err == nil {
			got, err = io.ReadAll(r)
			_ = r.Close()
		}
		var damaged *DamagedError
		switch {
		case err == nil && what == "flip" && at < said && bytes.Equal(got, content):
		case !errors.As(err, &damaged):
			t.Errorf("%s at %d: %d bytes, %v", what, at, len(got), err)
		case !strings.Contains(err.Error(), Key(key)):
			t.Errorf("%s at %d: %v", what, at, err)
		}
	}
	for at := range whole {
		read("cut", at, whole[:at])
		read("without the beginning", at+1, whole[at+1:])
		flipped := bytes.Clone(whole)
		flipped[at] ^= 1 << (at % 8)
		read("flip", at, flipped)
	}
	other := Key(keep(t, s, content[:2000]))
	longer, err := b.ReadAll(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	read("two in one", 0, append(bytes.Clone(longer), whole...))
}

// A decoder that knows nothing of this package finds the CSV and nothing else.
func TestPlainDecoder(t *testing.T) {
	s, b := memory(t)
	content := rows(500_000)
	object, err := b.ReadAll(t.Context(), Key(keep(t, s, content)))
	if err != nil {
		t.Fatal(err)
	}
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	if got, err := decoder.DecodeAll(object, nil); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes instead of %d: %v", len(got), len(content), err)
	}
	if !bytes.HasPrefix(object, []byte("\x28\xb5\x2f\xfd")) {
		t.Error("it doesn't begin as a frame")
	}
}

// A request of any length has its place.
func TestLongRequest(t *testing.T) {
	s, _ := memory(t)
	for _, n := range []int{usualFrame - 600, usualFrame, 1 << 20, longest} {
		k := s.Keep(t.Context(), Request{From: march, Until: march, Query: strings.Repeat("q", n)})
		key, err := k.Commit(Answer{Status: http.StatusNoContent})
		if n == longest {
			if err == nil {
				t.Error("a request that nobody could read is kept")
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Open(t.Context(), key)
		if err != nil || len(r.Query) != n || r.Close() != nil {
			t.Errorf("%d: %v", n, err)
		}
	}
}
