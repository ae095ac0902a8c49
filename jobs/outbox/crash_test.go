package outbox

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox/store"
)

var (
	crashRows  = flag.Int("n", 20_000, "records that the crash suite pushes")
	crashKills = flag.Int("kills", 12, "how often the crash suite kills its process")
)

// crashInDoubt is what a kill may leave in doubt: eight times what is in flight.
const crashInDoubt = (1 + mostAhead) * crashInFlight

const crashInFlight = 16

// The crash suite pushes a file from a process of its own to a receiver in this one, kills it again
// and again, and then compares what arrived with what the outbox says.
func TestCrashes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		park bool
	}{{"resend", false}, {"park", true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			crashes(t, c.park)
		})
	}
}

func crashes(t *testing.T, park bool) {
	dir := t.TempDir()
	lost := 0
	if !park {
		lost = 200 // one in so many answers is lost, and the record with it in half of them
	}
	service := listen(t, lost)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	kills, parked, worst := 0, int64(0), int64(0)
	for {
		kill := kills < *crashKills
		before := service.count()
		err := pushOnce(t, *crashRows, dir, service.addr, park, func(p *os.Process, over <-chan struct{}) {
			if !kill {
				return
			}
			want := before + 1 + rng.IntN(3**crashRows / *crashKills / 2)
			for service.count() < want {
				select {
				case <-over:
					return
				case <-time.After(200 * time.Microsecond):
				}
			}
			time.Sleep(time.Duration(rng.IntN(5000)) * time.Microsecond)
			_ = p.Kill() // it may be over
		})
		f := crashFile(t, dir)
		if f.Name != "" && f.Open() {
			// A kill leaves no more than a window in doubt. What is parked stays.
			if f.Unknown-parked > crashInDoubt {
				t.Errorf("a kill left %d in doubt, at most %d", f.Unknown-parked, crashInDoubt)
			}
			worst = max(worst, f.Unknown-parked)
			if park {
				parked = f.Unknown
			}
		}
		if err == nil && f.Name != "" && !f.Open() {
			break
		}
		if err != nil {
			kills++
		}
		if kills > 2**crashKills+20 {
			t.Fatal(err)
		}
	}
	settle(t, dir, service, park, kills, worst)
}

// settle compares the books.
func settle(t *testing.T, dir string, service *listener, park bool, kills int, worst int64) {
	f := crashFile(t, dir)
	fates := crashFates(t, dir)
	var once, again, missing int64
	times := service.times()
	for row := int64(1); row <= int64(*crashRows); row++ {
		n, s := times[row], fates.Get(row)
		switch bad := rejectedByCrash(row); {
		case s&^store.Doubt == store.Accepted && n == 0, !park && !bad && n == 0:
			t.Fatalf("row %d is %d and never arrived", row, s)
		case n > 1 && s&store.Doubt == 0:
			t.Fatalf("row %d arrived %d times and isn't in doubt", row, n)
		case park && n > 1:
			t.Fatalf("row %d arrived %d times though what is in doubt is parked", row, n)
		case bad != (s&^store.Doubt == store.Rejected) && s != store.Unknown:
			t.Fatalf("row %d is %d", row, s)
		case n == 0:
			missing++
		case n == 1:
			once++
		default:
			again++
		}
	}
	if !park && f.Accepted+f.Rejected != int64(*crashRows) {
		t.Errorf("%+v", f)
	}
	if got := f.Sums["all"]; got.Records != f.Accepted || got.Amount.Int64() != f.Accepted*3 {
		t.Errorf("sums are %v of %d accepted", got, f.Accepted)
	}
	t.Logf("%d kills; arrived once %d, again %d, never (all in doubt) %d; doubtful %d, parked %d; most left by one "+
		"kill %d of %d",
		kills, once, again, missing, f.Doubtful, f.Unknown, worst, crashInDoubt)
}

// A process that is stopped for longer than its lease sends not one more record when it wakes up:
// another one may have gone on.
func TestSleepers(t *testing.T) {
	t.Parallel()
	for range 5 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			sleeps(t)
		})
	}
}

func sleeps(t *testing.T) {
	service := listen(t, 0)
	service.slow = 2 * time.Millisecond
	before, count := 0, 0
	err := pushOnce(t, 100_000, t.TempDir(), service.addr, false, func(p *os.Process, over <-chan struct{}) {
		for service.count() < 200 {
			select {
			case <-over:
				return
			case <-time.After(time.Millisecond):
			}
		}
		_ = p.Signal(syscall.SIGSTOP)
		time.Sleep(700 * time.Millisecond) // the lease is 300
		before = service.count()
		_ = p.Signal(syscall.SIGCONT)
		<-over
		count = service.count()
	})
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitLost {
		t.Fatalf("it went on: %v", err)
	}
	// A request that was half written when the process was stopped is written to its end.
	if count > before+crashInFlight {
		t.Errorf("%d records were sent after the lease had ended", count-before)
	}
}

func rejectedByCrash(row int64) bool { return row%97 == 0 }

// numbers is a source of rows that are their own numbers.
type numbers int64

func (n numbers) Stat(context.Context) (Stat, error) { return Stat{Version: strconv.Itoa(int(n))}, nil }
func (n numbers) Header() []string                   { return []string{"row"} }
func (n numbers) Read(_ context.Context, sending bool, each func(*Record[int64]) error) error {
	for row := int64(1); row <= int64(n); row++ {
		r := &Record[int64]{Row: row, Value: row}
		r.ID, r.Content = hashes(strconv.FormatInt(row, 10), "")
		if sending {
			r.Cells = []string{strconv.FormatInt(row, 10)}
		}
		if err := each(r); err != nil {
			return err
		}
	}
	return nil
}

func crashBox(t *testing.T, dir string) *Outbox {
	o := folderBox(t, filepath.Join(dir, "ledger"), "spend", 300*time.Millisecond)
	o.options.Flush = 100 * time.Millisecond
	return o
}

// crashFile is what the outbox says of the file; a zero one when the push isn't on record.
func crashFile(t *testing.T, dir string) File {
	files, err := crashBox(t, dir).Summed(context.Background())
	if err != nil || len(files) > 1 {
		t.Fatal(files, err)
	}
	if len(files) == 0 {
		return File{}
	}
	return files[0]
}

func crashFates(t *testing.T, dir string) *store.States {
	pushes, err := crashBox(t, dir).table.Pushes(context.Background(), all)
	if err != nil || len(pushes) != 1 || pushes[0].Open() {
		t.Fatal(len(pushes), err)
	}
	return pushes[0].States
}

// pushOnce runs the helper process; meet is told of it once it runs.
func pushOnce(t *testing.T, rows int, dir, addr string, park bool, meet func(*os.Process, <-chan struct{})) error {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestCrashingProcess$", "-test.v", fmt.Sprintf("-n=%d", rows))
	cmd.Env = append(os.Environ(), "OUTBOX_CRASH_DIR="+dir, "OUTBOX_CRASH_ADDR="+addr,
		"OUTBOX_CRASH_PARK="+strconv.FormatBool(park))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	var text []byte
	go func() {
		text, _ = io.ReadAll(out)
		close(over)
	}()
	meet(cmd.Process, over)
	<-over
	if err := cmd.Wait(); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() > 0 && exit.ExitCode() != exitLost {
			t.Fatalf("%v: %s", err, text)
		}
		return err
	}
	return nil
}

// TestCrashingProcess is no test but the process that the crash suite kills.
func TestCrashingProcess(t *testing.T) {
	dir := os.Getenv("OUTBOX_CRASH_DIR")
	if dir == "" {
		return
	}
	o := crashBox(t, dir)
	p := Task[int64]{
		Name: "numbers", Source: numbers(*crashRows), Send: repeated(caller(os.Getenv("OUTBOX_CRASH_ADDR"))),
		InFlight:    crashInFlight,
		ParkUnknown: os.Getenv("OUTBOX_CRASH_PARK") == "true", Tally: func(int64) (string, int64) { return "all", 3 },
	}
	if p.ParkUnknown {
		p.Send = caller(os.Getenv("OUTBOX_CRASH_ADDR"))
	}
	for {
		_, err := doFile(t.Context(), o, p)
		var held *ledger.HeldError
		if errors.As(err, &held) { // by the one that was killed
			time.Sleep(held.Free + 10*time.Millisecond)
			continue
		}
		if errors.Is(err, ledger.ErrLost) { // this machine was too busy to renew a lease as short: as good as killed
			os.Exit(exitLost)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
}

const exitLost = 7

// caller sends a row over a connection of its own each, kept for the next: a line there, a line
// back.
func caller(addr string) func(context.Context, int64) (int, error) {
	type line struct {
		net.Conn
		r *bufio.Reader
	}
	kept := make(chan line, 16)
	return func(_ context.Context, row int64) (int, error) {
		var c line
		select {
		case c = <-kept:
		default:
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				return 0, err
			}
			c = line{conn, bufio.NewReader(conn)}
		}
		_, err := fmt.Fprintln(c, row)
		answer := ""
		if err == nil {
			answer, err = c.r.ReadString('\n')
		}
		if err != nil {
			_ = c.Close()
			return 0, fmt.Errorf("%w: %w", ErrUnknown, err)
		}
		kept <- c
		if answer == "no\n" {
			return 0, &Rejection{"row", "is bad"}
		}
		return 0, nil
	}
}

// A listener records the rows that arrive.
type listener struct {
	addr string
	lost int
	slow time.Duration
	mu   sync.Mutex
	got  map[int64]int
	seen int
}

func listen(t *testing.T, lost int) *listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	service := &listener{addr: l.Addr().String(), lost: lost, got: map[int64]int{}}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go service.serve(conn)
		}
	}()
	return service
}

func (l *listener) serve(conn net.Conn) {
	defer conn.Close() //nolint:errcheck // it may be torn already
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		row, _ := strconv.ParseInt(lines.Text(), 10, 64)
		answer := "yes\n"
		if rejectedByCrash(row) {
			answer = "no\n"
		}
		l.mu.Lock()
		l.seen++
		tear := l.lost > 0 && l.seen%l.lost == 0
		if !tear || l.seen%(2*l.lost) == 0 {
			l.got[row]++
		}
		l.mu.Unlock()
		if tear {
			return
		}
		time.Sleep(l.slow)
		if _, err := io.WriteString(conn, answer); err != nil {
			return
		}
	}
}

func (l *listener) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen
}

func (l *listener) times() map[int64]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	times := make(map[int64]int, len(l.got))
	for row, n := range l.got {
		times[row] = n
	}
	return times
}
