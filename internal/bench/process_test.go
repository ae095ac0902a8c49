package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "embed"

	"gocloud.dev/blob/fileblob"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/jobs/raw"
)

// task is one conversion, done by a process of its own, so that its peak of memory is its own.
type task struct {
	Contender string
	Files     []string // of CSV; several are converted at once; none: the answer is made while it is read
	Dir       string
	Shape     Shape
	Cores     int
	Raw       string // folder in which the answers are kept as well; empty: they aren't
}

// result is what the process measured, from the conversion's begin to its end.
type result struct {
	Wall  float64  `json:"wall"` // s
	CPU   float64  `json:"cpu"`  // s, user and system
	Peak  int64    `json:"peak"` // bytes, of the whole process
	Made  uint64   `json:"made"` // allocations
	Files []string `json:"files"`
}

const taskVariable = "BENCH_TASK"

func TestMain(m *testing.M) {
	if text := os.Getenv(taskVariable); text != "" {
		r, err := perform(text)
		if err == nil {
			err = json.NewEncoder(os.Stdout).Encode(r)
		}
		if err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// perform does a task in this process.
func perform(text string) (r result, err error) {
	var t task
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return r, err
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	made, before := memory.Mallocs, cpuSeconds()
	began := time.Now()
	switch {
	case len(t.Files) == 0:
		r.Files, err = convertAnswer(NewAnswer(t.Shape, 1), t.Dir, t.Shape, nil)
	case len(t.Files) > 1 || t.Raw != "":
		var keep *raw.Store
		if keep, err = rawStore(t.Raw); err == nil {
			r.Files, err = byTableAtOnce(t.Files, t.Dir, t.Shape, keep)
		}
	default:
		r.Files, err = goContenders[t.Contender](t.Files[0], t.Dir, t.Shape)
	}
	r.Wall, r.CPU = time.Since(began).Seconds(), cpuSeconds()-before
	if err != nil {
		return r, err
	}
	runtime.ReadMemStats(&memory)
	r.Made = memory.Mallocs - made
	r.Peak, err = peakMemory()
	return r, err
}

// rawStore keeps answers in a folder; nil keeps none.
func rawStore(dir string) (*raw.Store, error) {
	if dir == "" {
		return nil, nil
	}
	bucket, err := fileblob.OpenBucket(dir, &fileblob.Options{CreateDir: true, NoTempDir: true,
		Metadata: fileblob.MetadataDontWrite})
	return raw.Open(raw.Options{Bucket: bucket, Dir: dir, URL: "file://" + dir, Table: "bench"}), err
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// peakMemory is the largest resident set of this process so far (proc(5), VmHWM).
func peakMemory() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kb, _, _ := strings.Cut(rest, "kB")
	n, err := strconv.ParseInt(strings.TrimSpace(kb), 10, 64)
	return n << 10, err
}

//go:embed duckdb.mjs
var duckScript string

// duck is what a script run by node gives, with the folder where npm put the package.
func duck(t testing.TB, folder string, cores []string, argument, answer any) {
	t.Helper()
	text, err := json.Marshal(argument)
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "duckdb.mjs")
	if err := os.WriteFile(script, []byte(duckScript), 0o600); err != nil {
		t.Fatal(err)
	}
	call := exec.Command("taskset", append(append([]string{"-c"}, cores...), "node", script, string(text))...)
	call.Env = append(os.Environ(), "NODE_PATH_OF_DUCKDB="+folder)
	call.Stderr = os.Stderr
	out, err := call.Output()
	if err == nil {
		err = json.Unmarshal(out, answer)
	}
	if err != nil {
		t.Fatalf("DuckDB in node: %v: %s", err, out)
	}
}

func duckType(c catalog.Type) string {
	switch c {
	case catalog.Day:
		return "DATE"
	case catalog.Int64:
		return "BIGINT"
	case catalog.Decimal:
		return "DECIMAL(18,6)"
	case catalog.Double:
		return "DOUBLE"
	}
	return "VARCHAR"
}

// run performs a task on so many cores, from core 0 on.
func (t task) run(tb testing.TB, folder string) (r result) {
	tb.Helper()
	if err := os.MkdirAll(t.Dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	cores := "0"
	if t.Cores > 1 {
		cores = fmt.Sprintf("0-%d", t.Cores-1)
	}
	if t.Contender == duckDB {
		argument := struct {
			File    string      `json:"file"`
			Out     string      `json:"out"`
			Columns orderedText `json:"columns"`
			Threads int         `json:"threads"`
		}{t.Files[0], filepath.Join(t.Dir, "duckdb.parquet"), nil, t.Cores}
		for _, c := range t.Shape.Columns() {
			argument.Columns = append(argument.Columns, [2]string{c.Name, duckType(c.Type)})
		}
		duck(tb, folder, []string{cores}, argument, &r)
		return r
	}
	text, err := json.Marshal(t)
	if err != nil {
		tb.Fatal(err)
	}
	call := exec.Command(os.Args[0])
	if runtime.GOOS == "linux" {
		call = exec.Command("taskset", "-c", cores, os.Args[0])
	}
	call.Env = append(os.Environ(), taskVariable+"="+string(text), "GOMAXPROCS="+strconv.Itoa(t.Cores))
	call.Stderr = os.Stderr
	out, err := call.Output()
	if err == nil {
		err = json.Unmarshal(out, &r)
	}
	if err != nil {
		tb.Fatalf("%s: %v: %s", t.Contender, err, out)
	}
	return r
}

// orderedText is an object in JSON with its keys in order.
type orderedText [][2]string

func (o orderedText) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, kv := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "%q:%q", kv[0], kv[1])
	}
	return append(b, '}'), nil
}
