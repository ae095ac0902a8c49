//go:build !fuzz

package spend

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/adjust/transport"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/outbox/files"
	"github.com/reportferry/reportferry/jobs/outbox/outboxtest"
)

// rejected are the rows of the rejects file, as their numbers, fields and reasons.
func (r *rig) rejected(t *testing.T, key string) (rows []string) {
	t.Helper()
	text, err := r.rejects.ReadAll(context.Background(), key+files.RejectsSuffix)
	if err != nil {
		return nil
	}
	_, list := outboxtest.Rejects(t, string(text), ',')
	for _, one := range list {
		rows = append(rows, strings.Join([]string{one.Row, one.Field, one.Because}, ","))
	}
	return rows
}

// pushed is what is on record of the one file that was pushed.
func (r *rig) pushed(t *testing.T) outbox.File {
	t.Helper()
	list, err := New(r.o).Outbox().Summed(context.Background())
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	return list[0]
}

// Under each reading the records that the service takes are accepted and arrive once, those that it
// doesn't are in the rejects with its words, and a refused credential stops the job before anything
// is lost.
func TestPushUnderReadings(t *testing.T) {
	slow.Test(t)
	const rows = 12 // good ones, before those that a case adds
	const bad = "nobodys-cost-id,EUR,1234567890.5,\n"
	for _, c := range []struct {
		reading string
		more    string // rows
		here    int64  // of them that are accepted
		want    []string
		denied  bool

		parameter string // that carries the key
	}{
		{reading: "spend-auth=bearer"}, {reading: "spend-auth=header", denied: true}, {reading: "spend-auth=open"},
		{reading: "spend-auth=parameter", denied: true}, {reading: "spend-auth=parameter", parameter: "partner_key"},
		{reading: "spend-auth=bearer", parameter: "partner_key", denied: true},
		{reading: "spend-auth=parameter,spend-parameters=query", parameter: "partner_key"},
		{reading: "spend-auth=parameter,spend-parameters=form", parameter: "partner_key"},
		{reading: "spend-auth=parameter,spend-parameters=query,spend-refusal=words", parameter: "partner_key",
			more: bad,
			want: []string{"13,,the service answered 400: cost_amount: not a number of at most 5 decimals"}},
		{reading: "spend-auth=parameter,spend-parameters=query", parameter: "another_key", denied: true},
		{reading: "spend-answer=text"}, {reading: "spend-answer=json"}, {reading: "spend-answer=empty"},
		{reading: "spend-answer=201"}, {reading: "spend-answer=202"}, {reading: "spend-answer=204"},
		{reading: "spend-refusal=text", more: bad, want: []string{"13,,the service answered 400: Bad Request"}},
		{reading: "spend-refusal=words", more: bad,
			want: []string{"13,,the service answered 400: cost_amount: not a number of at most 5 decimals"}},
		{reading: "spend-refusal=error", more: bad,
			want: []string{"13,,the service answered 400: cost_amount: not a number of at most 5 decimals"}},
		{reading: "spend-refusal=html", more: bad, want: []string{"the service answered 400: "}},
		{reading: "spend-refusal=empty", more: bad, want: []string{"13,,the service answered 400"}},
		{reading: "spend-refusal=422", more: bad,
			want: []string{"the service answered 422: cost_amount: not a number of at most 5 decimals"}},
		{reading: "spend-late=200", more: "LATE,EUR,1,\n", here: 1},
		{reading: "spend-late=400", more: "LATE,EUR,1,\n", want: []string{"13,,the service answered 400: Bad Request"}},
		{reading: "spend-unknown=200", more: "nobodys-cost-id,EUR,1,\n", here: 1},
		{reading: "spend-unknown=400", more: "nobodys-cost-id,EUR,1,\n",
			want: []string{"13,,the service answered 400: Bad Request"}},
		{reading: "spend-unknown=404", more: "nobodys-cost-id,EUR,1,\n",
			want: []string{"13,,the service answered 404: cost_id: of no known engagement"}},
		{reading: "spend-case=lower", more: "Capital-cost-id,EUR,1,\n", here: 1},
		{reading: "spend-case=either", more: "Capital-cost-id,EUR,1,\n", here: 1},
		{reading: "spend-case=all", more: "Capital-cost-id,EUR,1,\n",
			want: []string{"13,,the service answered 400: Bad Request"}},
		{reading: "spend-parameters=both"}, {reading: "spend-parameters=form"}, {reading: "spend-parameters=query"},
	} {
		t.Run(c.reading, func(t *testing.T) {
			r := newRigReading(t, "partner-key", append([]string{"spend-refusal=text", "spend-unknown=200"},
				strings.Split(c.reading, ",")...))
			if c.parameter != "" {
				secret, err := transport.ParseToken("${KEY}", func(string) string { return "partner-key" })
				if err != nil {
					t.Fatal(err)
				}
				r.o.Client, err = adjust.New(adjust.Options{CostURL: "http://embedded",
					SpendAuth: adjust.RecordAuth{Key: secret, Parameter: c.parameter},
					Options:   transport.Options{Rate: 100_000, InFlight: 8, HTTP: r.server.Client()}})
				if err != nil {
					t.Fatal(err)
				}
			}
			r.o.Columns = nil // without times
			text, n := r.file(1, rows+1)
			for e := range r.server.Engagements(time.Now().AddDate(0, 0, -9), time.Now().AddDate(0, 0, -8), 1) {
				c.more = strings.Replace(c.more, "LATE", e.CostID, 1)
			}
			r.put(t, today(0)+"/a.csv", text+c.more)
			res := r.run(t)
			if denied := len(res.Errs) == 1 && jobs.Denied(res.Errs[0]); denied != c.denied || !denied &&
				len(res.Errs) > 0 {
				t.Fatalf("%v", res.Errs)
			}
			f := r.pushed(t)
			if c.denied {
				if f.Pending != int64(n) || f.Accepted+f.Rejected+f.Unknown != 0 ||
					!strings.Contains(res.Errs[0].Error(), "the header or parameter that it is sent in") {
					t.Errorf("%+v, %v", f, res.Errs)
				}
				return
			}
			if f.Open() || f.Accepted != int64(n)+c.here || f.Rejected != int64(len(c.want)) || f.Doubtful != 0 ||
				f.Unknown != 0 {
				t.Errorf("%+v", f)
			}
			if books := r.server.Spend(); int64(books.Records) != f.Accepted || books.Duplicates+books.Replaced > 0 {
				t.Errorf("books %+v, %d accepted", books, f.Accepted)
			}
			got := r.rejected(t, today(0)+"/a.csv")
			if len(got) != len(c.want) {
				t.Fatalf("rejects %q, want %q", got, c.want)
			}
			for i, want := range c.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("reject %q, want %q", got[i], want)
				}
			}
			r.clean(t)
			if res := r.run(t); len(res.Errs) > 0 || res.Outcome.Requests > 0 {
				t.Errorf("again: %+v", res)
			}
		})
	}
}

// A record whose answer was lost and that the service has is accepted, and doubtful; what it
// refuses for nothing that it says is in the rejects, which say that it may have been taken. So
// within a run, and when the next one sends it again.
func TestDuplicatesUnderReadings(t *testing.T) {
	slow.Test(t)
	for _, reading := range []string{"replaces", "keeps", "409", "400", "bare"} {
		for _, later := range []bool{false, true} {
			t.Run(fmt.Sprintf("spend-duplicate=%s/later=%t", reading, later), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					fault := emulator.Fault{Path: "cost", Kind: emulator.FaultLost, Nth: 3, Times: 1}
					if later {
						fault.Times = 8 // all attempts of one record
					}
					// Without words a 400 is bare.
					r := newRigReading(t, "partner-key", []string{"spend-refusal=text", "spend-duplicate=" + reading},
						fault)
					r.o.InFlight = 1
					text, n := r.file(1, 9)
					r.put(t, today(0)+"/a.csv", text)
					res := r.run(t)
					f := r.pushed(t)
					if later && f.Open() != true {
						t.Fatalf("nothing was left in doubt: %+v, %v", f, res.Errs)
					}
					r.server.SetFaults(nil)
					for range 2 {
						r.run(t)
					}
					f = r.pushed(t)
					accepted := int64(n)
					if reading == "bare" {
						accepted--
						if got := r.rejected(t, today(0)+"/a.csv"); len(got) != 1 ||
							!strings.HasSuffix(got[0],
								"Bad Request; an earlier answer was lost, and it may have been taken then") {
							t.Errorf("rejects %q", got)
						}
					}
					var sums int64
					for _, sum := range f.Sums {
						sums += sum.Records
					}
					if f.Open() || f.Accepted != accepted || sums != accepted || f.Doubtful != 1 || f.Unknown != 0 {
						t.Errorf("%+v, %d summed up", f, sums)
					}
					if books := r.server.Spend(); books.Records != n {
						t.Errorf("books %+v", books)
					}
				})
			})
		}
	}
}

// A service that is busy now and then gets all records once.
func TestBusyUnderReadings(t *testing.T) {
	slow.Test(t)
	for _, reading := range []string{"never", "429", "503"} {
		for _, after := range []string{"seconds", "none", "date"} {
			t.Run("spend-busy="+reading+"/retry-after="+after, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRigReading(t, "partner-key", []string{"spend-unknown=200", "spend-busy=" + reading,
						"retry-after=" + after})
					r.o.Columns = nil
					var b strings.Builder
					b.WriteString("cost_id,cost_currency,cost_amount\n")
					const n = 1200
					for i := range n {
						fmt.Fprintf(&b, "nobodys-cost-id-%d,EUR,1\n", i)
					}
					r.put(t, today(0)+"/a.csv", b.String())
					began := time.Now()
					res := r.run(t)
					books := r.server.Spend()
					if f := r.pushed(t); len(res.Errs) > 0 || f.Accepted != n || f.Doubtful != 0 ||
						books.Records != n || books.Duplicates != 0 {
						t.Errorf("%+v, %+v, %v", f, books, res.Errs)
					}
					if busy := books.Statuses[429] + books.Statuses[503]; busy != 2 && reading != "never" ||
						time.Since(began) > time.Minute {
						t.Errorf("busy %d times, %v", busy, time.Since(began))
					}
				})
			})
		}
	}
}
