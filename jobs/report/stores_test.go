package report_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/blobsink"
	"github.com/reportferry/reportferry/sinks/bqsink"
	"github.com/reportferry/reportferry/sinks/bqsink/bqtest"
)

// A store is where a drawn history publishes, together with what people do to it behind the
// program's back.
type store interface {
	// target is the store as the config has it. Before each put it calls put, which may end the
	// run.
	target(t testing.TB, put func()) ledger.Target

	// read gives what readers find, by another reader than the program's. The table of a day that
	// lies there twice has both.
	read(t testing.TB) map[civil.Date][]readTable

	// harm does something to the rows of days, and gives those days.
	harm(c *change) []civil.Date

	// change changes what the config says of the store.
	change(c *change)

	// undo makes the config right again.
	undo(t testing.TB)
}

// A folder has a file a day, in one of two layouts.
type folder struct {
	out      string
	layouts  [2]*blobsink.Sink
	layout   int
	versions map[string][]version // by path: what was published, the newest last
}

type version struct {
	content  []byte
	modified time.Time
}

func newFolder(t testing.TB, out string) *folder {
	f := &folder{out: out, versions: map[string][]version{}}
	for i, query := range []string{"", "?key={table}/{date}.parquet"} {
		s, err := blobsink.Open(t.Context(), "file://"+out+query)
		check(t, err)
		f.layouts[i] = s.(*blobsink.Sink)
	}
	return f
}

type watchedFolder struct {
	*blobsink.Sink
	put func()
}

func (w watchedFolder) Put(ctx context.Context, p sinks.Part) (sinks.Receipt, error) {
	w.put()
	return w.Sink.Put(ctx, p)
}

func (f *folder) target(_ testing.TB, put func()) ledger.Target {
	s := f.layouts[f.layout]
	return ledger.Target{Name: "out", Sink: watchedFolder{s, put}, Store: s.Store()}
}

var dayInPath = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}`)

// paths are the files, by their layout and ascending.
func (f *folder) paths(t testing.TB) (paths [2][]string) {
	err := filepath.WalkDir(filepath.Join(f.out, "installs"), func(path string, d fs.DirEntry, err error) error {
		switch {
		case os.IsNotExist(err):
			return nil
		case err == nil && strings.HasSuffix(path, "part-0.parquet"):
			paths[0] = append(paths[0], path)
		case err == nil && strings.HasSuffix(path, ".parquet"):
			paths[1] = append(paths[1], path)
		}
		return err
	})
	check(t, err)
	return paths
}

func dayOf(t testing.TB, path string) civil.Date {
	day, err := civil.ParseDate(dayInPath.FindString(path))
	check(t, err)
	return day
}

func (f *folder) read(t testing.TB) map[civil.Date][]readTable {
	found := map[civil.Date][]readTable{}
	for _, path := range slices.Concat(f.paths(t)[0], f.paths(t)[1]) {
		content, err := os.ReadFile(path)
		check(t, err)
		if !bytes.HasSuffix(content, []byte("PAR1")) { // somebody has cut it
			continue
		}
		day := dayOf(t, path)
		found[day] = append(found[day], readParquet(t, path))
		info, err := os.Stat(path)
		check(t, err)
		if all := f.versions[path]; len(all) == 0 || !bytes.Equal(all[len(all)-1].content, content) {
			f.versions[path] = append(all, version{content, info.ModTime()})
		}
	}
	return found
}

func (f *folder) harm(c *change) (days []civil.Date) {
	paths := slices.Concat(f.paths(c.t)[0], f.paths(c.t)[1])
	if len(paths) == 0 {
		return nil
	}
	at := c.dice.IntN(len(paths))
	remove := func(paths []string) {
		for _, path := range paths {
			check(c.t, os.Remove(path))
		}
	}
	harmed := paths[at : at+1]
	switch c.dice.IntN(8) {
	case 0:
		c.tell("a file is deleted")
		remove(harmed)
	case 1:
		harmed = paths[:at+1]
		c.tell("%d old files expire", len(harmed))
		remove(harmed)
	case 2:
		harmed, c.filled = paths, false
		c.tell("the table is deleted")
		check(c.t, os.RemoveAll(filepath.Join(f.out, "installs")))
	case 3:
		info, err := os.Stat(paths[at])
		check(c.t, err)
		size := info.Size() * int64(c.dice.IntN(3)) / 3
		c.tell("a file is cut to %d bytes", size)
		check(c.t, os.Truncate(paths[at], size))
	case 4: // a backup from some day, with its times
		harmed = nil
		c.tell("older files are restored")
		for _, path := range paths {
			if all := f.versions[path]; len(all) > 1 && c.dice.IntN(2) == 0 {
				v := all[c.dice.IntN(len(all)-1)]
				check(c.t, os.WriteFile(path, v.content, 0o600))
				check(c.t, os.Chtimes(path, v.modified, v.modified))
				harmed = append(harmed, path)
			}
		}
	case 5, 6:
		harmed = nil
		if c.second(c.meaning) {
			harmed = paths
		}
	case 7:
		harmed = nil
		c.otherMeaning(f)
	}
	for _, path := range harmed {
		days = append(days, dayOf(c.t, path))
	}
	return days
}

// whole tells whether there is a file that readers can read.
func (f *folder) whole(t testing.TB) bool { return len(f.read(t)) > 0 }

// contents are all files with what they hold, in one text.
func (f *folder) contents(t testing.TB) string {
	var b strings.Builder
	for _, path := range slices.Concat(f.paths(t)[0], f.paths(t)[1]) {
		content, err := os.ReadFile(path)
		check(t, err)
		fmt.Fprintf(&b, "%s %s\n", path, content)
	}
	return b.String()
}

func (f *folder) change(c *change) {
	f.layout = 1 - f.layout
	c.tell("layout %d", f.layout)
}

// undo takes the layout of the files that are there.
func (f *folder) undo(t testing.TB) {
	if paths := f.paths(t); len(paths[f.layout]) == 0 && len(paths[1-f.layout]) > 0 {
		f.layout = 1 - f.layout
	}
}

// A warehouse is a dataset of BigQuery.
type warehouse struct {
	server *bqtest.Server
	puts   map[civil.Date][]sinks.Part // what was published, the newest last
	jobs   int                         // made by people
}

const theTable = "proj.ds.installs"

func newWarehouse(t testing.TB) *warehouse {
	server, err := bqtest.New(bqtest.Options{Datasets: []string{"proj.ds"}, Location: "EU"})
	check(t, err)
	return &warehouse{server: server, puts: map[civil.Date][]sinks.Part{}}
}

// open opens the dataset as a new process does.
func (w *warehouse) open(t testing.TB) *bqsink.Sink {
	s, err := bqsink.OpenOver(t.Context(), "bigquery://proj/ds?location=EU", w)
	check(t, err)
	return s
}

// RoundTrip calls the server in the caller's goroutine, so that all of it fits into a bubble.
func (w *warehouse) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	answer := httptest.NewRecorder()
	w.server.ServeHTTP(answer, r)
	_ = r.Body.Close()
	return answer.Result(), r.Context().Err()
}

type watchedWarehouse struct {
	*bqsink.Sink
	w   *warehouse
	put func()
}

func (s watchedWarehouse) Put(ctx context.Context, p sinks.Part) (sinks.Receipt, error) {
	s.put()
	file, err := p.Open()
	if err != nil {
		return sinks.Receipt{}, err
	}
	content, err := io.ReadAll(file)
	if err != nil || file.Close() != nil {
		return sinks.Receipt{}, err
	}
	r, err := s.Sink.Put(ctx, p)
	if err == nil && p.Table == "installs" {
		p.Open = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
		s.w.puts[p.Partition] = append(s.w.puts[p.Partition], p)
	}
	return r, err
}

func (w *warehouse) target(t testing.TB, put func()) ledger.Target {
	s := w.open(t)
	return ledger.Target{Name: "out", Sink: watchedWarehouse{s, w, put}, Store: s.Store()}
}

func (w *warehouse) read(t testing.TB) map[civil.Date][]readTable {
	table, there := w.server.Tables()[theTable]
	if !there {
		return nil
	}
	var names []string
	for _, f := range table.Schema.Fields {
		names = append(names, f.Name)
	}
	rows, err := w.server.Rows(theTable)
	check(t, err)
	found := map[civil.Date][]readTable{}
	for _, row := range rows {
		day, err := civil.ParseDate(row[slices.Index(names, "day")])
		check(t, err)
		if found[day] == nil {
			found[day] = []readTable{{names: names}}
		}
		found[day][0].rows = append(found[day][0].rows, row)
	}
	return found
}

// call calls the warehouse as anybody may.
func (w *warehouse) call(t testing.TB, method, path, body string) {
	answer := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://x/bigquery/v2/projects/proj/"+path,
		strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w.server.ServeHTTP(answer, r)
	if answer.Code >= 300 || strings.Contains(answer.Body.String(), "errorResult") {
		t.Fatal(answer.Code, answer.Body)
	}
}

func (w *warehouse) query(t testing.TB, sql string) {
	w.jobs++
	w.call(t, http.MethodPost, "jobs",
		fmt.Sprintf(
			`{"jobReference": {"projectId": "proj", "jobId": "person%d", "location": "EU"}, "configuration": {"query": {"useLegacySql": false, "query": %q}}}`, w.jobs, sql))
}

func (w *warehouse) harm(c *change) (days []civil.Date) {
	if _, there := w.server.Tables()[theTable]; !there {
		return nil
	}
	days = slices.SortedFunc(maps.Keys(w.read(c.t)), civil.Date.Compare)
	if len(days) == 0 {
		return nil
	}
	at := c.dice.IntN(len(days))
	between := func(from, to civil.Date) string {
		return fmt.Sprintf("DELETE FROM `%s` WHERE `day` >= DATE '%s' AND `day` < DATE '%s'", theTable, from, to)
	}
	restore := func(day civil.Date, p sinks.Part) {
		w.jobs++
		p.Lease = fmt.Sprint("restored", w.jobs)
		_, err := w.open(c.t).Put(c.t.Context(), p)
		check(c.t, err)
	}
	switch c.dice.IntN(5) {
	case 0:
		c.tell("a day is deleted")
		w.query(c.t, between(days[at], days[at].AddDays(1)))
		return days[at : at+1]
	case 1:
		c.tell("%d old days are deleted", at+1)
		w.query(c.t, between(days[0], days[at].AddDays(1)))
		return days[:at+1]
	case 2:
		c.tell("the table is truncated")
		w.query(c.t, fmt.Sprintf("DELETE FROM `%s` WHERE TRUE", theTable))
	case 3:
		c.tell("the table is dropped")
		w.call(c.t, http.MethodDelete, "datasets/ds/tables/installs", "")
		if c.dice.IntN(2) == 0 {
			c.tell("and older rows are restored")
			for _, day := range days {
				if all := w.puts[day]; len(all) > 0 && day.After(c.gone) && c.dice.IntN(3) > 0 {
					restore(day, all[c.dice.IntN(len(all))])
				}
			}
		}
	case 4:
		day := days[at]
		for _, p := range w.puts[day] {
			// As many aren't noticed.
			if rows := w.read(c.t)[day]; p.Rows != int64(len(rows[0].rows)) && p.Rows > 0 && day.After(c.gone) {
				c.tell("older rows of a day are loaded")
				restore(day, p)
				return []civil.Date{day}
			}
		}
		return nil
	}
	return days
}

func (w *warehouse) change(c *change) {
	days := []int{0, 9, 14}[c.dice.IntN(3)]
	c.options.Warehouse.Expiration = time.Duration(days) * 24 * time.Hour
	c.tell("expire_days %d", days)
}

func (w *warehouse) undo(testing.TB) {}
