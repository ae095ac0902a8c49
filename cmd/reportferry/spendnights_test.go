package main

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/outbox/store"
)

// ownID is in every Cost ID that isn't one of the emulator's.
const ownID = "Partnerklick"

// nights are some files of spend in their days' folders, and what is to come of them.
type nights struct {
	files      int
	want       map[string]costRecord // what the service must end up with, by Cost ID
	sums       map[string]store.Sum  // of it, as spend status has them
	refused    int64                 // rows of each disposition beside those
	duplicates int64
	conflicts  int64
	rejected   int64
}

// A costRecord is one record as the service has it.
type costRecord struct{ kind, currency, amount, tag string }

// nightFiles are written one a day, today's last, each in its own format.
var nightFiles = []string{"a.csv", "b.jsonl", "c.csv.gz", "d.csv"}

// newNights writes files of so many different good records below dir/in, and rows among them that
// repeat another one, contradict one, or are wrong: some in a way that only the service sees.
func newNights(t testing.TB, dir string, account *emulator.Server, records int, dice *rand.Rand) *nights {
	t.Helper()
	n := &nights{files: len(nightFiles), want: make(map[string]costRecord, records), sums: map[string]store.Sum{}}
	now := time.Now()
	per := records / n.files
	next := engagements(account, now, records)
	var earlier []string // rows of the files before: any of them may come again
	for i, name := range nightFiles {
		day := now.UTC().AddDate(0, 0, i+1-n.files).Format(time.DateOnly)
		path := filepath.Join(dir, "in", day, name)
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		f := newNightFile(t, path)
		if i == n.files-1 {
			per = records - len(n.want)
		}
		for k := range per {
			id, at := next()
			r := costRecord{[]string{"cpi", "cpc", "cpm", "cpe"}[dice.IntN(4)],
				[]string{"usd", "eur", "jpy"}[dice.IntN(3)],
				spelled(int64(dice.IntN(9_000_000))), []string{"nightly", `a tag, "quoted" & <more>`}[dice.IntN(2)]}
			n.want[id] = r
			key := strings.Join([]string{at.UTC().Format(time.DateOnly), r.kind, r.currency, r.tag}, " ")
			sum := n.sums[key]
			n.sums[key] = store.Sum{Records: sum.Records + 1, Amount: plus(sum.Amount, r.amount)}
			row := f.row(id, r.kind, strings.ToUpper(r.currency), r.amount, r.tag, at.Format(time.RFC3339))
			switch {
			case k%97 == 96:
				f.row(id[:11], r.kind, r.currency, r.amount, r.tag, at.Format(time.RFC3339))
				n.refused++
			case k%211 == 210 && i > 0:
				f.again(earlier[dice.IntN(len(earlier))])
				n.duplicates++
			case k%307 == 306:
				f.row(id, r.kind, r.currency, "9"+r.amount, r.tag, at.Format(time.RFC3339))
				n.conflicts++
			case k%401 == 400: // more than the service takes, and not more than it documents
				f.row("too-much-"+ownID+strconv.Itoa(k)+name, r.kind, r.currency, "9999999999", r.tag,
					at.Format(time.RFC3339))
				n.rejected++
			case k%50 == 49:
				earlier = append(earlier, row)
			}
		}
		f.close()
	}
	return n
}

// engagements gives Cost IDs with the times of their clicks, of the last four days: the account's,
// and between them some that it doesn't know, with characters that a partner's may have.
func engagements(account *emulator.Server, now time.Time, records int) func() (string, time.Time) {
	known := make(chan emulator.Engagement, 100)
	go func() {
		defer close(known)
		left := records
		for e := range account.Engagements(now.AddDate(0, 0, -4), now, records/8+2) {
			if known <- e; left == 0 {
				return
			}
			left--
		}
	}()
	n := 0
	return func() (string, time.Time) {
		n++
		if n%7 != 0 {
			if e, more := <-known; more {
				return e.CostID, e.Time
			}
		}
		return fmt.Sprintf("%s/%d ü%%&+=<\"'%x", ownID, n, n*n),
			now.Add(-time.Duration(n%300_000) * time.Second).Truncate(time.Second)
	}
}

// spelled is a number of hundred-thousandths as the service gives it back.
func spelled(n int64) string {
	text := new(big.Rat).SetFrac64(n, 100_000).FloatString(5)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// plus adds an amount to a sum in hundred-thousandths.
func plus(sum *big.Int, amount string) *big.Int {
	whole, fraction, _ := strings.Cut(amount, ".")
	n, _ := new(big.Int).SetString(whole+(fraction + "00000")[:5], 10)
	if sum != nil {
		n.Add(n, sum)
	}
	return n
}

// A nightFile writes rows in the format that the file's name says.
type nightFile struct {
	t     testing.TB
	path  string
	text  bytes.Buffer
	lines bool
}

func newNightFile(t testing.TB, path string) *nightFile {
	f := &nightFile{t: t, path: path, lines: strings.HasSuffix(path, ".jsonl")}
	if !f.lines {
		f.text.WriteString("cost_id,cost_type,cost_currency,spend,tag,time\n")
	}
	return f
}

// row writes one row, and gives it for again.
func (f *nightFile) row(cells ...string) string {
	row, err := json.Marshal(cells)
	check(f.t, err)
	f.again(string(row))
	return string(row)
}

// again writes a row that some file has.
func (f *nightFile) again(row string) {
	var c []string
	check(f.t, json.Unmarshal([]byte(row), &c))
	if f.lines {
		check(f.t, json.NewEncoder(&f.text).Encode(map[string]string{
			"cost_id": c[0], "cost_type": c[1], "cost_currency": c[2], "spend": c[3], "tag": c[4], "time": c[5],
		}))
		return
	}
	w := csv.NewWriter(&f.text)
	check(f.t, w.Write(c))
	w.Flush()
}

func (f *nightFile) close() {
	data := f.text.Bytes()
	if strings.HasSuffix(f.path, ".gz") {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, err := w.Write(data)
		check(f.t, err)
		check(f.t, w.Close())
		data = packed.Bytes()
	}
	check(f.t, os.WriteFile(f.path, data, 0o600))
}

// A ledgerOf is what spend status says of all files together.
type ledgerOf struct {
	outbox.File
	open int
}

func addUp(files []outbox.File) (all ledgerOf) {
	all.Sums = map[string]store.Sum{}
	for _, f := range files {
		if f.Open() {
			all.open++
		}
		all.Rows += f.Rows
		all.Accepted += f.Accepted
		all.Refused += f.Refused
		all.Rejected += f.Rejected
		all.Duplicates += f.Duplicates
		all.Conflicts += f.Conflicts
		all.Unknown += f.Unknown
		all.Pending += f.Pending
		all.Doubtful += f.Doubtful
		for key, sum := range f.Sums {
			all.Sums[key] = store.Sum{Records: all.Sums[key].Records + sum.Records,
				Amount: plus(sum.Amount, spelled(amountOf(all.Sums[key])))}
		}
	}
	return all
}

func amountOf(s store.Sum) int64 {
	if s.Amount == nil {
		return 0
	}
	return s.Amount.Int64()
}

// agree compares what the service has with what was in the files, record by record, and both with
// what the ledger says. It gives how many records came more than once.
func (n *nights) agree(t testing.TB, s *service, files []outbox.File) (twice int64) {
	t.Helper()
	all := addUp(files)
	if len(files) != n.files || all.open > 0 || all.Pending+all.Unknown > 0 {
		t.Fatalf("%d files, %d of them open, %d records pending, %d unknown", len(files), all.open, all.Pending,
			all.Unknown)
	}
	if got, want := [5]int64{all.Accepted, all.Refused, all.Rejected, all.Duplicates, all.Conflicts},
		[5]int64{int64(len(n.want)), n.refused, n.rejected, n.duplicates, n.conflicts}; got != want {
		t.Errorf("accepted, refused, rejected, duplicates, conflicts: %d, want %d", got, want)
	}
	if fmt.Sprint(all.Sums) != fmt.Sprint(n.sums) {
		t.Errorf("the ledger's sums are %v, want %v", all.Sums, n.sums)
	}
	rows := csv.NewReader(bytes.NewReader(s.admin(t, http.MethodGet, "spend-records", nil)))
	rows.ReuseRecord = true
	_, err := rows.Read() // names
	check(t, err)
	matched, seen := map[string]*big.Int{}, 0
	for {
		c, err := rows.Read()
		if err != nil {
			break // the count tells whether it was the end
		}
		seen++
		if want := n.want[c[0]]; want != (costRecord{c[1], c[2], c[3], c[4]}) || c[8] != "0" {
			t.Fatalf("the service has %q, want %v", c, want)
		}
		if state := map[bool]string{true: "pending", false: "matched"}[strings.HasPrefix(c[0], ownID)]; c[5] != state {
			t.Fatalf("the service has %q, which should be %s", c, state)
		}
		if c[5] == "matched" {
			key := c[6] + " " + c[1] + " " + c[2]
			matched[key] = plus(matched[key], c[3])
		}
		if c[7] != "1" {
			twice++
		}
	}
	if seen != len(n.want) {
		t.Errorf("the service has %d records, want %d", seen, len(n.want))
	}
	books := s.books(t)
	for _, total := range books.Totals {
		if key := total.Day + " " + total.CostType + " " + total.Currency; matched[key] == nil ||
			plus(nil, total.Amount).Cmp(matched[key]) != 0 {
			t.Errorf("the service booked %s of %s, want %v units", total.Amount, key, matched[key])
		}
	}
	if len(books.Totals) != len(matched) || books.Replaced+books.TooLate > 0 {
		t.Errorf("the service has %d totals, want %d; %d replaced, %d late", len(books.Totals), len(matched),
			books.Replaced, books.TooLate)
	}
	if twice > all.Doubtful {
		t.Errorf("%d records came more than once, and %d are said to be doubtful", twice, all.Doubtful)
	}
	return twice
}

// books are what arrived at the service.
func (s *service) books(t testing.TB) (b emulator.SpendSummary) {
	t.Helper()
	check(t, json.Unmarshal(s.admin(t, http.MethodGet, "spend", nil), &b))
	return b
}
