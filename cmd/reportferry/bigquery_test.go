package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math/big"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/sinks/bqsink/bqtest"
)

// A warehouse is BigQuery on the loopback, and a place whose job puts its table there.
type warehouse struct {
	*bqtest.Server
	*place
	url   string
	cloud *cloud // of the ledger and the staged files; nil: the ledger is a folder, and files go with their jobs
}

const warehouseTable = "proj.ds.installs"

func newWarehouse(t *testing.T, s *service, days int, lease string) *warehouse {
	t.Helper()
	return openWarehouse(t, s, days, lease, bqtest.Options{}, "")
}

// newCloudWarehouse has its ledger and its staged files in a bucket.
func newCloudWarehouse(t *testing.T, s *service, days int, lease string) *warehouse {
	t.Helper()
	c := startCloud(t)
	w := openWarehouse(t, s, days, lease, bqtest.Options{GCS: "http://" + c.addr}, "&staging=gs://bkt/staged")
	w.cloud, w.env = c, []string{"STORAGE_EMULATOR_HOST=" + c.addr}
	w.edit(t, "file://"+w.dir+"/ledger", "gs://bkt/ledger")
	return w
}

func openWarehouse(t *testing.T, s *service, days int, lease string, o bqtest.Options, query string) *warehouse {
	t.Helper()
	w := &warehouse{place: newPlace(t, s, days, 2, lease)}
	w.Server, w.url = w.toBigQuery(t, o, query)
	return w
}

// toBigQuery lets the job put its table into a BigQuery on the loopback from now on.
func (p *place) toBigQuery(t *testing.T, o bqtest.Options, query string) (server *bqtest.Server, url string) {
	t.Helper()
	o.Datasets, o.Location = []string{"proj.ds"}, "EU"
	server, err := bqtest.New(o)
	check(t, err)
	t.Cleanup(func() { check(t, server.Close()) })
	at, err := server.Listen()
	check(t, err)
	url = "bigquery://proj/ds?location=EU&endpoint=" + at + query
	p.edit(t, "sinks: [file://"+p.dir+"/out]", "sinks: [\""+url+"\"]")
	return server, url
}

// A rebaseline that the warehouse's table can't take writes nothing, in the warehouse or in the
// ledger: the table goes on under the config that it had, whatever else is asked for afterwards.
func TestARebaselineThatDoesntFit(t *testing.T) {
	slow.Test(t)
	s := startService(t)
	w := newWarehouse(t, s, 5, living)
	if out, code := w.run("run"); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	rows, err := w.Rows(warehouseTable)
	check(t, err)
	recorded := w.recorded()
	good, err := os.ReadFile(filepath.Join(w.dir, "reportferry.yml"))
	check(t, err)
	w.edit(t, "currency: USD", "currency: EUR\n    bigquery: {cluster_by: [network]}")
	out, code := w.run("run", "--rebaseline")
	if code == 0 || !strings.Contains(unfolded(out), "it is clustered by") ||
		!strings.Contains(unfolded(out), "Nothing was changed") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if now := w.recorded(); !maps.Equal(now, recorded) {
		t.Errorf("the ledger has\n%v\nand had\n%v", now, recorded)
	}
	if out, code := w.run("run"); code != 2 || !strings.Contains(unfolded(out), "run --rebaseline") {
		t.Errorf("under the new config: exit code %d: %s", code, out)
	}
	check(t, os.WriteFile(filepath.Join(w.dir, "reportferry.yml"), good, 0o600))
	out, code = w.run("run")
	if code != 0 || strings.Contains(unfolded(out), "written") && !strings.Contains(unfolded(out), "written 0") {
		t.Errorf("under its own config: exit code %d: %s", code, out)
	}
	if now, err := w.Rows(warehouseTable); err != nil || !slices.EqualFunc(now, rows, slices.Equal) {
		t.Errorf("%d rows are there, and %d were: %v", len(now), len(rows), err)
	}
}

// edit changes the config.
func (p *place) edit(t *testing.T, before, after string) {
	t.Helper()
	path := filepath.Join(p.dir, "reportferry.yml")
	data, err := os.ReadFile(path)
	check(t, err)
	if !strings.Contains(string(data), before) {
		t.Fatalf("the config has no %q:\n%s", before, data)
	}
	check(t, os.WriteFile(path, []byte(strings.Replace(string(data), before, after, 1)), 0o600))
}

// truth asks the service itself for days, both ends included, and writes the rows as the
// warehouse's reader does.
func (s *service) truth(t *testing.T, first, last civil.Date) [][]string {
	t.Helper()
	rows := s.grouped(t, "day,app_token,country_code,network,campaign",
		"installs,clicks,cost,all_revenue,ecpi_all,purchase_events,purchase_revenue", first, last)
	for _, row := range rows {
		for _, money := range []int{7, 8, 9, 11} { // cost, all_revenue, ecpi_all, purchase_revenue
			row[money] = roundedMoney(t, row[money])
		}
	}
	slices.SortFunc(rows, slices.Compare)
	return rows
}

// grouped is the service's own answer.
func (s *service) grouped(t *testing.T, dimensions, metrics string, first, last civil.Date) [][]string {
	t.Helper()
	v := url.Values{
		"dimensions": {dimensions}, "metrics": {metrics}, "currency": {"USD"},
		"date_period": {first.String() + ":" + last.String()},
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/reports-service/csv_report?"+v.Encode(),
		nil)
	check(t, err)
	req.Header.Set("Authorization", "Bearer truth")
	res, err := http.DefaultClient.Do(req)
	check(t, err)
	body, err := io.ReadAll(res.Body)
	check(t, err)
	check(t, res.Body.Close())
	if res.StatusCode != http.StatusOK {
		t.Fatalf("truth: %s %s", res.Status, body)
	}
	rows, err := csv.NewReader(strings.NewReader(string(body))).ReadAll()
	check(t, err)
	return rows[1:]
}

// roundedMoney has six decimals, half to even, and no zeros at its end.
func roundedMoney(t *testing.T, cell string) string {
	t.Helper()
	r, ok := new(big.Rat).SetString(cell)
	if !ok {
		t.Fatalf("%q is no money", cell)
	}
	scaled := r.Mul(r, big.NewRat(1_000_000, 1))
	whole := new(big.Int).Div(scaled.Num(), scaled.Denom())
	rest := new(big.Rat).Sub(scaled, new(big.Rat).SetInt(whole))
	if c := rest.Cmp(big.NewRat(1, 2)); c > 0 || c == 0 && whole.Bit(0) == 1 {
		whole.Add(whole, big.NewInt(1))
	}
	text := new(big.Rat).SetFrac(whole, big.NewInt(1_000_000)).FloatString(6)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// holds wants the table to be equal to the service's own rows.
func (w *warehouse) holds(t *testing.T, want [][]string) {
	t.Helper()
	got, err := w.Rows(warehouseTable)
	check(t, err)
	if !slices.EqualFunc(got, want, slices.Equal) {
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || !slices.Equal(got[i], want[i]) {
				t.Fatalf("%d rows, want %d; the first that differs:\n%q, want\n%q", len(got), len(want),
					got[min(i, len(got)-1)], want[min(i, len(want)-1)])
			}
		}
	}
}

// Through a bucket, some weeks land equal to the service's own answer; a second run loads nothing;
// a day fetched again replaces only itself, and leaves no row of campaigns that are gone.
func TestBigQueryHoldsTheTruth(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	days := min(5**kills, 60)
	if testing.Short() {
		days = 8
	}
	t.Logf("%d days", days)
	s := startService(t, "--days", "80")
	w := newCloudWarehouse(t, s, days, living)
	if out, code := w.run("run"); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	today := civil.DateOf(time.Now().UTC())
	first, last := today.AddDays(-days), today.AddDays(-1)
	w.holds(t, s.truth(t, first, last))
	jobs := len(w.Jobs())
	if out, code := w.run("run", "--now"); code != 0 || len(w.Jobs()) != jobs {
		t.Errorf("a second run: exit code %d, %d jobs more: %s", code, len(w.Jobs())-jobs, out)
	}

	other := s.restated(t, "11", "--days", "80") // other campaigns under other names
	day := today.AddDays(-5)
	w.allNumbers(t)
	w.edit(t, s.url, other.url)
	if out, code := w.run("backfill", "installs", "--from", day.String(), "--to", day.String(), "--force"); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	want := slices.Concat(s.truth(t, first, day.AddDays(-1)), other.truth(t, day, day),
		s.truth(t, day.AddDays(1), last))
	w.holds(t, want)
	if left := w.cloud.names(t, "staged/"); len(left) > 0 {
		t.Errorf("staged files are left after their record: %v", left)
	}
}

// A job with two sinks of which one fails is completed by the next run, which leaves the other
// alone.
func TestABucketAndBigQuery(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := startService(t, "--days", "30", "--apps", "3")
	w := newWarehouse(t, s, 3, living)
	w.edit(t, "sinks: [", "sinks: [file://"+w.dir+"/out, ")
	w.SetFaults(bqtest.Fault{Call: "jobs.insert", Every: 1, Kind: bqtest.FaultStatus, Status: 403,
		Reason: "accessDenied"})
	if out, code := w.run("run"); code != 5 || !strings.Contains(unfolded(out), "roles/bigquery.jobUser") {
		t.Errorf("without permission: exit code %d: %s", code, out)
	}
	if files := w.files(); len(files) == 0 {
		t.Error("nothing is in the bucket")
	}
	// The answers about the audit's jobs.
	w.SetFaults(bqtest.Fault{Call: "jobs.insert", Nth: 4, Every: 2, Kind: bqtest.FaultLost})
	w.edit(t, "ledger: ", "audit: \""+w.url+"\"\nledger: ")
	if out, code := w.run("run"); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	w.audited(t, 1)
	today := civil.DateOf(time.Now().UTC())
	w.holds(t, s.truth(t, today.AddDays(-3), today.AddDays(-1)))
	if files := w.files(); len(files) != 3 {
		t.Errorf("%d files in the bucket", len(files))
	}
	if told, err := w.Rows("proj.ds._reportferry_partitions_installs"); err != nil || len(told) != 3 {
		t.Errorf("BigQuery is told of %d partitions: %v", len(told), err)
	}
	w.messages()
}

// Runs with a fault at a random call of the warehouse, the bucket or the service, or killed at a
// random moment, each followed by a clean one: the table equals the truth, and at no time a reader
// sees a partition that is neither empty nor whole. In every second the ledger and the files on
// their way lie in a bucket.
func TestBigQueryWhateverBreaks(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := startService(t, "--days", "30", "--apps", "2", "--latency", "20ms")
	today := civil.DateOf(time.Now().UTC())
	const days = 4
	want := s.truth(t, today.AddDays(-days), today.AddDays(-1))
	whole := map[string]int{}
	for _, row := range want {
		whole[row[0]]++
	}
	dice := rand.New(rand.NewPCG(*killSeed, 1))
	t.Logf("seed %d, %d runs", *killSeed, *kills)
	for i := range *kills {
		b := draw(dice)
		t.Run(fmt.Sprintf("%03d %s", i, b), func(t *testing.T) {
			w := newWarehouse(t, s, days, dying)
			if b.bucket.nth > 0 || i%2 == 1 {
				w = newCloudWarehouse(t, s, days, dying)
				w.cloud.breaks(b.bucket)
			}
			done := make(chan struct{})
			var reader sync.WaitGroup
			reader.Go(func() { w.poll(t, whole, done) })
			w.SetFaults(b.warehouse...)
			s.admin(t, http.MethodPut, "faults", append([]emulator.Fault{}, b.service...))
			cmd, _ := w.command(t.Context(), "run")
			check(t, cmd.Start())
			if b.kill > 0 {
				time.Sleep(b.kill)
				_ = cmd.Process.Signal(syscall.SIGKILL) // it may have ended
			}
			_ = cmd.Wait() // whatever becomes of it
			w.SetFaults()
			if w.cloud != nil {
				t.Logf("calls of the bucket: %d", w.cloud.breaks(cloudFault{}))
			}
			s.admin(t, http.MethodPut, "faults", []emulator.Fault{})
			w.untilDone()
			close(done)
			reader.Wait()
			w.holds(t, want)
		})
	}
}

// poll looks at the table again and again: each partition has no rows or all of them.
func (w *warehouse) poll(t *testing.T, whole map[string]int, done chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-time.After(5 * time.Millisecond):
		}
		rows, err := w.Rows(warehouseTable)
		if err != nil {
			continue // not made yet
		}
		seen := map[string]int{}
		for _, row := range rows {
			seen[row[0]]++
		}
		for day, n := range seen {
			if n != whole[day] {
				t.Errorf("%s has %d rows at a time, whole it has %d", day, n, whole[day])
				return
			}
		}
	}
}

// A breakage is what goes wrong in a run: a call to the warehouse, the bucket or the service, or
// the process after some time.
type breakage struct {
	warehouse []bqtest.Fault
	bucket    cloudFault
	service   []emulator.Fault
	kill      time.Duration
}

func draw(dice *rand.Rand) (b breakage) {
	f := bqtest.Fault{Nth: 1 + dice.IntN(30)}
	insert := func() { f.Call, f.Nth = "jobs.insert", 1+dice.IntN(4) }
	switch dice.IntN(12) {
	case 0:
		f.Kind = bqtest.FaultReset
	case 1:
		f.Kind = bqtest.FaultLost
	case 2:
		insert()
		f.Kind = bqtest.FaultLost
	case 3:
		f.Kind, f.Status = bqtest.FaultStatus, []int{500, 502, 503}[dice.IntN(3)]
	case 4:
		insert()
		f.Kind, f.Reason = bqtest.FaultFailJob, []string{"backendError", "internalError", "rateLimitExceeded",
			"invalid"}[dice.IntN(4)]
	case 5: // the job goes on while its run is gone
		insert()
		f.Kind, f.Delay = bqtest.FaultSlowJob, 3*time.Second
		b.kill = time.Duration(200+dice.IntN(1500)) * time.Millisecond
	case 6:
		b.service = []emulator.Fault{{Nth: 1 + dice.IntN(4), Kind: emulator.FaultCut,
			AfterBytes: int64(dice.IntN(20_000))}}
	case 7:
		b.service = []emulator.Fault{{Nth: 1 + dice.IntN(4), Kind: emulator.FaultStatus,
			Status: []int{400, 429, 503, 504}[dice.IntN(4)]}}
	case 8, 9, 10:
		b.bucket = cloudFault{nth: 1 + dice.IntN(52), kind: []string{"503", "reset", "lost"}[dice.IntN(3)]}
	default:
		b.kill = time.Duration(50+dice.IntN(2500)) * time.Millisecond
	}
	if f.Kind != "" {
		b.warehouse = []bqtest.Fault{f}
	}
	return b
}

func (b breakage) String() string {
	var parts []string
	for _, f := range b.warehouse {
		parts = append(parts, fmt.Sprintf("%s %s %s%d", f.Kind, f.Call, f.Reason, f.Nth))
	}
	if b.bucket.nth > 0 {
		parts = append(parts, b.bucket.String())
	}
	for _, f := range b.service {
		parts = append(parts, fmt.Sprintf("service %s %d", f.Kind, f.Nth))
	}
	if b.kill > 0 {
		parts = append(parts, "killed after "+b.kill.String())
	}
	return strings.Join(parts, ", ")
}

// A run that is killed while its load job goes on, and a backfill of the same days at the same
// time: what was fetched last is what the table holds, though the dead run's job ends late.
func TestALateJobOfADeadRun(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	old := startService(t, "--days", "30", "--apps", "2")
	restated := old.restated(t, "11", "--days", "30", "--apps", "2")
	today := civil.DateOf(time.Now().UTC())
	first, last := today.AddDays(-2), today.AddDays(-1)
	for nth := 1; nth <= 2; nth++ {
		t.Run(fmt.Sprint("job ", nth), func(t *testing.T) {
			t.Parallel()
			w := newWarehouse(t, old, 2, dying)
			w.SetFaults(bqtest.Fault{Call: "jobs.insert", Nth: nth, Kind: bqtest.FaultSlowJob, Delay: 3 * time.Second})
			night, _ := w.command(t.Context(), "run")
			check(t, night.Start())
			for deadline := time.Now().Add(20 * time.Second); len(w.Jobs()) < nth; time.Sleep(5 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the night makes no job")
				}
			}
			w.allNumbers(t)
			w.edit(t, old.url, restated.url)
			w.leases(living)
			backfill, out := w.command(t.Context(), "backfill", "installs", "--from", first.String(), "--to",
				last.String(), "--force")
			check(t, backfill.Start())
			check(t, night.Process.Kill())
			_ = night.Wait() // killed
			if err := backfill.Wait(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			w.Advance(time.Minute) // whatever is under way ends
			w.holds(t, restated.truth(t, first, last))
			for day, run := range w.recorded() {
				if !strings.HasPrefix(run, "20") || len(day) != 10 {
					t.Errorf("%s is recorded by run %q", day, run)
				}
			}
		})
	}
}

// audited wants so many rows in the audit table: each run once, though answers were lost.
func (w *warehouse) audited(t *testing.T, runs int) {
	t.Helper()
	rows, err := w.Rows("proj.ds." + auditRuns)
	check(t, err)
	if len(rows) != runs {
		t.Errorf("%d rows, want %d: %q", len(rows), runs, rows)
	}
}
