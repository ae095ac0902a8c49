// Package buckettest is the test suite that every bucket passes. Without it, a lost race could be
// reported differently on every store.
//
// A test calls Run with a function that opens clients of a new, empty place; the suite writes,
// swaps, races and lists, and breaks the reading of files half way.
package buckettest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/bucket"
)

// Open opens a bucket, and closes it at the end of the test.
func Open(t *testing.T, rawURL string) *bucket.Bucket {
	t.Helper()
	b, err := bucket.Open(t.Context(), rawURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// Run runs the suite. place makes a new, empty place for a store, and returns a function that opens
// another client of it.
func Run(t *testing.T, place func(t *testing.T) (open func() *bucket.Bucket)) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, open func() *bucket.Bucket)
	}{
		{"what was put is read", testRead},
		{"a put on a condition that isn't met is refused", testConditions},
		{"files too, in one call and in pieces", testFiles},
		{"a file that can't be read to its end isn't put", testBrokenFiles},
		{"an ended context writes nothing", testEnded},
		{"one of many creates", func(t *testing.T, open func() *bucket.Bucket) {
			testRace(t, open,
				bucket.Condition{Absent: true})
		}},
		{"one of many creates a file in pieces", testRaceFiles},
		{"many count together", testCount},
		{"no version comes back", testVersions},
		{"a listing has what is there, with versions", testList},
		{"names of all sorts", testNames},
		{"deleted is what is named", testDelete},
		{"the clock is the store's", testNow},
		{"conditions are proved", testProve},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, place(t)) })
	}
}

// check ends the test on an error.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put puts an object, and ends the test if that fails.
func put(t *testing.T, b *bucket.Bucket, key, text string, on bucket.Condition) string {
	t.Helper()
	version, err := b.Put(t.Context(), key, []byte(text), on)
	if err != nil || version == "" {
		t.Fatalf("put %s on %+v: %q %v", key, on, version, err)
	}
	return version
}

// refused puts an object, and expects ErrConflict or also. A store may answer ErrUnknown for a key
// that was deleted.
func refused(t *testing.T, b *bucket.Bucket, key string, on bucket.Condition, also error) {
	t.Helper()
	if _, err := b.Put(t.Context(), key, []byte("late"), on); !errors.Is(err, bucket.ErrConflict) &&
		(also == nil || !errors.Is(err, also)) {
		t.Errorf("a late put of %s on %+v: %v", key, on, err)
	}
}

// holds checks the content and version of an object; with empty text, the object must not exist.
func holds(t *testing.T, b *bucket.Bucket, key, text, version string) {
	t.Helper()
	data, now, err := b.Get(t.Context(), key)
	if text == "" && !errors.Is(err, fs.ErrNotExist) || text != "" && err != nil || string(data) != text ||
		now != version {
		t.Errorf("%s holds %.40q, version %q (%v); want %.40q, version %q", key, data, now, err, text, version)
	}
}

func testRead(t *testing.T, open func() *bucket.Bucket) {
	b := open()
	holds(t, b, "a/b.json", "", "")
	for _, size := range []int{1, 1000, 5 << 20, 5<<20 - 1, 9 << 20} {
		text := strings.Repeat("x", size)
		holds(t, open(), "a/b.json", text, put(t, b, "a/b.json", text, bucket.Condition{}))
	}
	if _, _, err := b.Get(t.Context(), "a"); err == nil {
		t.Error("a folder was read")
	}
}

func testConditions(t *testing.T, open func() *bucket.Bucket) {
	b, other := open(), open()
	refused(t, b, "k", bucket.Condition{Version: "1"}, bucket.ErrUnknown)
	holds(t, b, "k", "", "")
	one := put(t, b, "k", "one", bucket.Condition{Absent: true})
	refused(t, other, "k", bucket.Condition{Absent: true}, nil)
	two := put(t, other, "k", "two", bucket.Condition{Version: one})
	refused(t, b, "k", bucket.Condition{Version: one}, nil)
	refused(t, b, "k", bucket.Condition{Absent: true}, nil)
	holds(t, b, "k", "two", two)
	three := put(t, b, "k", "three", bucket.Condition{})
	refused(t, b, "k", bucket.Condition{Version: two}, nil)
	holds(t, other, "k", "three", three)
	check(t, b.Delete(t.Context(), "k"))
	refused(t, b, "k", bucket.Condition{Version: three}, bucket.ErrUnknown)
	holds(t, b, "k", "", "")
	put(t, b, "k", "four", bucket.Condition{Absent: true})
}

// file returns a File of a text. Reading it ends with the error broken, unless that is nil.
func file(text string, size int, broken error) bucket.File {
	r := io.Reader(strings.NewReader(text))
	if broken != nil {
		r = io.MultiReader(r, failing{broken})
	}
	return bucket.File{Size: int64(size), ContentType: "text/plain", Metadata: map[string]string{"mark": "m"},
		Open: func() (io.ReadCloser, error) { return io.NopCloser(r), nil }}
}

// failing is a reader that returns an error.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// pieces is a size in bytes from which every store splits an upload into pieces.
const pieces = 17 << 20

func testFiles(t *testing.T, open func() *bucket.Bucket) {
	b := open()
	for i, size := range []int{0, 1000, pieces} {
		key := fmt.Sprintf("files/%d", i)
		putFile := func(fill string, on bucket.Condition) (string, error) {
			return b.PutFile(t.Context(), key, file(strings.Repeat(fill, size), size, nil), on)
		}
		one, err := putFile("1", bucket.Condition{Absent: true})
		check(t, err)
		looked, _, err := b.Attributes(t.Context(), key)
		if err != nil || looked.Version != one || looked.Size != int64(size) || one == "" {
			t.Errorf("%d bytes: %+v (%v), want version %q", size, looked, err, one)
		}
		listed, err := b.ListFiles(t.Context(), key)
		if err != nil || len(listed) != 1 || listed[0].Version != one || listed[0].Size != int64(size) {
			t.Errorf("%d bytes: listed %+v (%v), want version %q", size, listed, err, one)
		}
		if _, err := putFile("l", bucket.Condition{Absent: true}); !errors.Is(err, bucket.ErrConflict) {
			t.Errorf("%d bytes, late: %v", size, err)
		}
		time.Sleep(time.Millisecond) // a folder's version is a time, which must differ
		two, err := b.PutFile(t.Context(), key, file(strings.Repeat("2", size+1), size+1, nil),
			bucket.Condition{Version: one})
		check(t, err)
		if _, err := putFile("l", bucket.Condition{Version: one}); !errors.Is(err, bucket.ErrConflict) || two == one {
			t.Errorf("%d bytes, late: %v", size, err)
		}
		if data, _, err := b.Get(t.Context(), key); err != nil || string(data) != strings.Repeat("2", size+1) {
			t.Errorf("%d bytes: %d are there, %v", size, len(data), err)
		}
	}
	if _, _, err := b.Attributes(t.Context(), "files/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a look at nothing: %v", err)
	}
}

func testBrokenFiles(t *testing.T, open func() *bucket.Bucket) {
	b, broken := open(), errors.New("the disk is gone")
	version := put(t, b, "k", "old", bucket.Condition{})
	for _, size := range []int{10, pieces} {
		half := strings.Repeat("h", size/2)
		last := file(strings.Repeat("h", size), size, nil)
		last.Last = func() error { return broken }
		unopened := bucket.File{Size: int64(size), Open: func() (io.ReadCloser, error) { return nil, broken }}
		for name, c := range map[string]struct {
			f    bucket.File
			want error
		}{
			"an error": {file(half, size, broken), broken}, "an early end": {file(half, size, nil),
				io.ErrUnexpectedEOF},
			"one byte more": {file(half+"m", size/2, nil), nil}, "no": {unopened, broken},
			"a change of mind": {last, broken},
		} {
			if _, err := b.PutFile(t.Context(), "k", c.f, bucket.Condition{}); err == nil || c.want != nil &&
				!errors.Is(err, c.want) {
				t.Errorf("%d bytes, %s: %v", size, name, err)
			}
			holds(t, b, "k", "old", version)
		}
	}
	if objects, err := b.List(t.Context(), ""); err != nil || len(objects) != 1 {
		t.Errorf("left: %+v %v", objects, err)
	}
}

func testEnded(t *testing.T, open func() *bucket.Bucket) {
	b := open()
	version := put(t, b, "k", "old", bucket.Condition{})
	ctx, cancel := context.WithCancel(t.Context())
	half := file(strings.Repeat("h", pieces), pieces, nil)
	half.Open = func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(strings.NewReader(strings.Repeat("h", pieces/2)), cancelling{cancel},
			strings.NewReader(strings.Repeat("h", pieces)))), nil
	}
	half.Size = pieces/2 + pieces
	if _, err := b.PutFile(ctx, "k", half, bucket.Condition{}); !errors.Is(err, context.Canceled) {
		t.Errorf("ended half way: %v", err)
	}
	_, putErr := b.Put(ctx, "k", []byte("new"), bucket.Condition{})
	_, _, getErr := b.Get(ctx, "k")
	for _, err := range []error{putErr, getErr, b.Delete(ctx, "k")} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("under an ended context: %v", err)
		}
	}
	holds(t, b, "k", "old", version)
}

// cancelling is a reader that cancels a context.
type cancelling struct{ cancel func() }

func (c cancelling) Read([]byte) (int, error) { c.cancel(); return 0, io.EOF }

const clients = 8

// testRace lets many clients write on one condition. Exactly one must succeed, and its content must
// remain.
func testRace(t *testing.T, open func() *bucket.Bucket, on bucket.Condition) {
	for round := range 5 {
		key := fmt.Sprintf("race/%d.json", round)
		var all sync.WaitGroup
		var mu sync.Mutex
		won, version := "", ""
		for i := range clients {
			b := open()
			all.Go(func() {
				text := strings.Repeat(fmt.Sprint(i), 100+round*10_000)
				made, err := b.Put(t.Context(), key, []byte(text), on)
				if errors.Is(err, bucket.ErrConflict) || errors.Is(err, bucket.ErrUnknown) {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if err != nil || won != "" {
					t.Errorf("round %d: %v, or a second one that won", round, err)
				}
				won, version = text, made
			})
		}
		all.Wait()
		holds(t, open(), key, won, version)
	}
}

// testRaceFiles lets several clients create a file that is sent in pieces. A store that checks the
// condition when the first piece arrives, and not when the last one does, would let two of them
// win.
func testRaceFiles(t *testing.T, open func() *bucket.Bucket) {
	const writers = 3
	var all sync.WaitGroup
	won := make([]string, writers)
	for i := range writers {
		b := open()
		all.Go(func() {
			text := strings.Repeat(fmt.Sprint(i), pieces)
			_, err := b.PutFile(t.Context(), "file", file(text, pieces, nil), bucket.Condition{Absent: true})
			switch {
			case err == nil:
				won[i] = text
			case !errors.Is(err, bucket.ErrConflict) && !errors.Is(err, bucket.ErrUnknown):
				t.Error(err)
			}
		})
	}
	all.Wait()
	won = slices.DeleteFunc(won, func(text string) bool { return text == "" })
	data, _, err := open().Get(t.Context(), "file")
	if err != nil || len(won) != 1 || string(data) != won[0] {
		t.Errorf("%d winners, and %d bytes are there, %v", len(won), len(data), err)
	}
}

// testCount lets many clients append to one object, each by reading it, changing it, and writing it
// on the condition that its version is still the one that was read.
func testCount(t *testing.T, open func() *bucket.Bucket) {
	const each = 5
	var all sync.WaitGroup
	for i := range clients {
		b := open()
		all.Go(func() {
			for n := 0; n < each; {
				data, version, err := b.Get(t.Context(), "count")
				on := bucket.Condition{Version: version}
				if errors.Is(err, fs.ErrNotExist) {
					on, err = bucket.Condition{Absent: true}, nil
				}
				if err == nil {
					_, err = b.Put(t.Context(), "count", fmt.Appendf(data, "%d.%d ", i, n), on)
				}
				switch {
				case err == nil:
					n++
				case !errors.Is(err, bucket.ErrConflict) && !errors.Is(err, bucket.ErrUnknown):
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	data, _, err := open().Get(t.Context(), "count")
	check(t, err)
	entries := strings.Fields(string(data))
	slices.Sort(entries)
	if len(slices.Compact(entries)) != clients*each {
		t.Errorf("%d of %d are counted: %s", len(entries), clients*each, data)
	}
}

func testVersions(t *testing.T, open func() *bucket.Bucket) {
	b, seen := open(), map[string]bool{}
	for i := range 10 {
		version := put(t, b, "k", fmt.Sprintf("the same but for a token, %d", i), bucket.Condition{})
		if seen[version] {
			t.Errorf("version %s is there again", version)
		}
		seen[version] = true
	}
}

func testList(t *testing.T, open func() *bucket.Bucket) {
	b := open()
	if objects, err := b.List(t.Context(), "none/"); err != nil || len(objects) > 0 {
		t.Errorf("nothing is listed as %v, %v", objects, err)
	}
	before := time.Now()
	versions := map[string]string{}
	for _, key := range []string{"t/b.json", "t/a.json", "t/c/d.json", "t.json", "ta/x.json", "t/c-e.json", "u"} {
		versions[key] = put(t, b, key, key, bucket.Condition{})
	}
	for prefix, want := range map[string]string{
		"":    "t.json t/a.json t/b.json t/c-e.json t/c/d.json ta/x.json u",
		"t/":  "t/a.json t/b.json t/c-e.json t/c/d.json",
		"t":   "t.json t/a.json t/b.json t/c-e.json t/c/d.json ta/x.json",
		"t/c": "t/c-e.json t/c/d.json", "v": "",
	} {
		objects, err := open().List(t.Context(), prefix)
		var keys []string
		for _, o := range objects {
			keys = append(keys, o.Key)
			if age := o.Modified.Sub(before); o.Version != versions[o.Key] || o.Size != int64(len(o.Key)) ||
				age < -time.Minute || age > time.Hour {
				t.Errorf("%+v, want version %s", o, versions[o.Key])
			}
		}
		if got := strings.Join(keys, " "); err != nil || got != want {
			t.Errorf("under %q are %s (%v), want %s", prefix, got, err, want)
		}
	}
}

func testNames(t *testing.T, open func() *bucket.Bucket) {
	b := open()
	for _, name := range []string{"installs täglich", "日本", "a+b & c=d", "50%25 off #1?"} {
		key := name + "/" + name + ".json"
		version := put(t, b, key, name, bucket.Condition{Absent: true})
		version = put(t, b, key, name+"2", bucket.Condition{Version: version})
		holds(t, b, key, name+"2", version)
		if objects, err := b.List(t.Context(), name+"/"); err != nil || len(objects) != 1 || objects[0].Key != key ||
			objects[0].Version != version {
			t.Errorf("%s: %+v %v", name, objects, err)
		}
		check(t, b.Delete(t.Context(), key))
		holds(t, b, key, "", "")
	}
}

func testDelete(t *testing.T, open func() *bucket.Bucket) {
	b := open()
	keys := []string{"was never there", "nor/this"}
	for i := range 20 {
		keys = append(keys, fmt.Sprintf("claims of Zoë & Co. <%d>/1.json", i))
		put(t, b, keys[i+2], "x", bucket.Condition{})
	}
	check(t, b.Delete(t.Context()))
	check(t, b.Delete(t.Context(), keys[:21]...))
	objects, err := b.List(t.Context(), "")
	if err != nil || len(objects) != 1 || objects[0].Key != keys[21] {
		t.Errorf("%+v %v are there, want the one that wasn't named", objects, err)
	}
	check(t, b.Delete(t.Context(), keys...))
	holds(t, b, keys[21], "", "")
}

func testNow(t *testing.T, open func() *bucket.Bucket) {
	b := open()
	now, known, err := b.Now(t.Context())
	if off := time.Since(now).Abs(); err != nil || off > 10*time.Second || known != (b.Dir() == "") {
		t.Errorf("it is %v, off by %v, known: %v, %v", now, off, known, err)
	}
	put(t, b, "k", "x", bucket.Condition{})
	if later, _, err := b.Now(t.Context()); err != nil || later.Before(now.Add(-2*time.Second)) {
		t.Errorf("after %v it is %v, %v", now, later, err)
	}
}

func testProve(t *testing.T, open func() *bucket.Bucket) {
	var all sync.WaitGroup
	for range clients {
		b := open()
		all.Go(func() {
			if err := b.Prove(t.Context()); err != nil && !errors.Is(err, bucket.ErrUnknown) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	check(t, open().Prove(t.Context()))
	if objects, err := open().List(t.Context(), ""); err != nil || len(objects) > 1 {
		t.Errorf("%+v %v are left behind", objects, err)
	}
}
