package outbox

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/bucket/buckettest"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox/outboxtest"
	"github.com/reportferry/reportferry/jobs/outbox/store"
)

// memo is a source in memory: one line a record, "id content" or "id+id content"; a line that
// begins with # is refused, and one with ~ skipped.
type memo struct {
	lines   []string
	version string
	read    func(sending bool, row int64) // before each record
	age     time.Duration
	end     error // of each reading, behind the last line
}

func lines(text string) *memo {
	return &memo{lines: strings.Split(text, "\n"), version: "1", age: time.Hour}
}

func (m *memo) Stat(context.Context) (Stat, error) {
	return Stat{Version: m.version, Modified: time.Now().Add(-m.age), Size: int64(len(m.lines))}, nil
}

func (m *memo) Header() []string { return []string{"line"} }

func (m *memo) Read(ctx context.Context, sending bool, each func(*Record[string]) error) error {
	for i, line := range m.lines {
		if m.read != nil {
			m.read(sending, int64(i)+1)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if line == "" {
			continue
		}
		if err := each(lineRecord(int64(i)+1, line)); err != nil {
			return err
		}
	}
	return m.end
}

func lineRecord(row int64, line string) *Record[string] {
	id, content, _ := strings.Cut(line, " ")
	r := &Record[string]{Row: row, Value: line, Cells: []string{line}}
	first, second, both := strings.Cut(id, "+")
	r.ID, r.Content = hashes(first, content)
	if both {
		r.Also, r.Content = hashes(second, id+content)
	}
	switch {
	case strings.HasPrefix(line, "~"):
		r.Skipped = "is a note"
	case strings.HasPrefix(line, "#"):
		r.Refusal = &Rejection{"line", "is a comment"}
	case strings.HasPrefix(content, "old"):
		r.Refusal, r.Expired = &Rejection{"line", "is too old"}, true
	}
	return r
}

func hashes(id, content string) (h [16]byte, c uint64) {
	sum := sha256.Sum256([]byte(id))
	other := sha256.Sum256([]byte(content))
	return [16]byte(sum[:16]), binary.BigEndian.Uint64(other[:])
}

// receiver is the service: it counts what arrives.
type receiver struct {
	mu    sync.Mutex
	got   map[string]int
	order []string
	say   func(line string, times int) error // nil: accepted
}

// tries is how often a client sends a record whose answers are lost.
const tries = 8

// repeated makes of a client that sends a record once one that repeats it after a lost answer.
func repeated[V any](once func(context.Context, V) (int, error)) func(context.Context, V) (int, error) {
	return func(ctx context.Context, v V) (resent int, err error) {
		for ; ; resent++ {
			_, err = once(ctx, v)
			switch {
			case err != nil && resent > 0 && !errors.Is(err, ErrRejected) && !errors.Is(err, ErrUnknown):
				return resent, fmt.Errorf("%w; after an earlier attempt %w", err, ErrUnknown)
			case !errors.Is(err, ErrUnknown) || resent == tries-1 || ctx.Err() != nil:
				return resent, err
			}
		}
	}
}

// once delivers a record as a client does that mustn't repeat it.
func (r *receiver) once(_ context.Context, line string) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.got == nil {
		r.got = map[string]int{}
	}
	r.got[line]++
	r.order = append(r.order, line)
	if r.say != nil {
		return 0, r.say(line, r.got[line])
	}
	return 0, nil
}

// take gives what arrived since the last call, in order of arrival when one was sent at a time.
func (r *receiver) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := strings.Join(r.order, ", ")
	r.order = nil
	return s
}

type rig struct {
	*Outbox
	t       testing.TB
	memory  *bucket.Memory
	fate    func(bucket.Call) buckettest.Fate // of the calls to it; nil: of a good network
	rejects *blob.Bucket
	service receiver
}

func newRig(t testing.TB) *rig {
	r := &rig{t: t, memory: &bucket.Memory{}, rejects: memblob.OpenBucket(nil)}
	r.Outbox = r.open()
	return r
}

// open makes another outbox of the same table, as another process would.
func (r *rig) open() *Outbox {
	store := r.memory.Open()
	if r.fate != nil {
		store = buckettest.NewFaulty(r.memory, r.fate)
	}
	return New(Options{
		Ledger: ledger.Open(ledger.Options{Store: store, URL: "mem://ledger", Lease: time.Minute}),
		Table:  "spend", Run: "run", SpoolDir: r.t.TempDir(), Rejects: r.rejects, Log: slog.New(slog.DiscardHandler),
	})
}

func (r *rig) push(name string, m *memo) Task[string] {
	return Task[string]{
		Name: name, Source: m, Send: repeated(r.service.once), InFlight: 1,
		Tally: func(line string) (string, int64) { return line[:1], int64(len(line)) },
	}
}

// parked makes a push leave what is in doubt for a person: its client repeats nothing either.
func (r *rig) parked(p Task[string]) Task[string] {
	p.ParkUnknown, p.Send = true, r.service.once
	return p
}

// doFile does one file under a lease of its own, as a run does several under one.
func doFile[V any](ctx context.Context, o *Outbox, p Task[V]) (report Report, err error) {
	err = o.Hold(ctx, func(ctx context.Context, l *Lease) (err error) {
		report, err = Do(ctx, l, o, p)
		return err
	})
	return report, err
}

// folderBox is an outbox whose ledger is in a folder.
func folderBox(tb testing.TB, dir, table string, lease time.Duration) *Outbox {
	tb.Helper()
	store, err := bucket.Open(context.Background(),
		(&url.URL{Scheme: "file", Path: dir, RawQuery: "create_dir=true"}).String())
	if err != nil {
		tb.Fatal(err)
	}
	return New(Options{
		Ledger: ledger.Open(ledger.Options{Store: store, Lease: lease}),
		Table:  table, Run: "run", SpoolDir: tb.TempDir(), Log: slog.New(slog.DiscardHandler),
	})
}

func all(*store.Push) bool { return true }

// keys are those of the objects of the table.
func (r *rig) keys() string {
	objects, err := r.memory.Open().List(context.Background(), "pushes/")
	if err != nil {
		r.t.Fatal(err)
	}
	var keys []string
	for _, o := range objects {
		keys = append(keys, strings.TrimPrefix(o.Key, "pushes/"))
	}
	return strings.Join(keys, "\n")
}

func (r *rig) do(p Task[string]) Report {
	r.t.Helper()
	report, err := doFile(context.Background(), r.Outbox, p)
	if err != nil {
		r.t.Fatal(err)
	}
	return report
}

// want compares the counts of a file.
func (r *rig) want(f File, want string) {
	r.t.Helper()
	var b strings.Builder
	for _, c := range []struct {
		name string
		n    int64
	}{
		{"pending", f.Pending}, {"accepted", f.Accepted}, {"rejected", f.Rejected}, {"unknown", f.Unknown},
		{"refused", f.Refused},
		{"duplicates", f.Duplicates}, {"conflicts", f.Conflicts}, {"doubtful", f.Doubtful}, {"skipped", f.Skipped},
	} {
		if c.n != 0 {
			fmt.Fprintf(&b, "%d %s, ", c.n, c.name)
		}
	}
	state := "ended"
	if f.Open() {
		state = "open"
	}
	if got := b.String() + state; got != want {
		r.t.Errorf("%s is %s, want %s", f.Name, got, want)
	}
}

func (r *rig) sent(want string) {
	r.t.Helper()
	if got := r.service.take(); got != want {
		r.t.Errorf("sent %q, want %q", got, want)
	}
}

// rejected compares the rows of a rejects file, each as its row, the field, the reason and the
// line.
func (r *rig) rejected(key, want string) {
	r.t.Helper()
	data, err := r.rejects.ReadAll(context.Background(), key)
	var got string
	if err == nil {
		names, rows := outboxtest.Rejects(r.t, string(data), ',')
		if got = outboxtest.Text(rows); names[0] != "line" || rows[0].Of+".rejects.csv" != key {
			r.t.Errorf("rejects of %s have the column %s and are of %s", key, names[0], rows[0].Of)
		}
	}
	if got != want {
		r.t.Errorf("rejects of %s are\n%s\nwant\n%s", key, got, want)
	}
}

var errDown = errors.New("the service is down")
