//go:build servers

package sinktest

import (
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog/rest"
	_ "github.com/apache/iceberg-go/io/gocloud/s3" // s3://
	icetable "github.com/apache/iceberg-go/table"
)

// client is a client of a catalog, with a time limit for each request.
func client(t *testing.T, uri string, limit time.Duration) *rest.Catalog {
	t.Helper()
	c, err := rest.NewCatalog(t.Context(), "tests", uri,
		rest.WithCustomTransport(&http.Transport{ResponseHeaderTimeout: limit}))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newTable makes a table of one column in a namespace of its own.
func newTable(t *testing.T, c *Catalog) icetable.Identifier {
	t.Helper()
	name := icetable.Identifier{c.Namespace(t), "numbers"}
	schema := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "n", Type: iceberg.PrimitiveTypes.Int64})
	if _, err := client(t, c.URI, time.Minute).CreateTable(t.Context(), name, schema); err != nil {
		t.Fatal(err)
	}
	return name
}

// appended adds a row to a table.
func appended(t *testing.T, c *rest.Catalog, name icetable.Identifier, n int64) error {
	t.Helper()
	loaded, err := c.LoadTable(t.Context(), name)
	if err != nil {
		return err
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	b.Field(0).(*array.Int64Builder).Append(n)
	rows := array.NewTableFromRecords(schema, []arrow.RecordBatch{b.NewRecordBatch()})
	_, err = loaded.AppendTable(t.Context(), rows, 1, nil)
	return err
}

// numbers are a table's rows, read at the catalog's own address.
func numbers(t *testing.T, c *Catalog, name icetable.Identifier) []int64 {
	t.Helper()
	loaded, err := client(t, c.URI, time.Minute).LoadTable(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := loaded.Scan().ToArrowTable(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []int64
	for _, chunk := range rows.Column(0).Data().Chunks() {
		all = append(all, chunk.(*array.Int64).Int64Values()...)
	}
	slices.Sort(all)
	return all
}

// What was committed is there after a crash of the server, with files in a folder and in a bucket.
func TestCatalogCrash(t *testing.T) {
	for kind, options := range map[string][]CatalogOption{"folder": nil, "S3": {CatalogOnS3(os.Getenv)}} {
		t.Run(kind, func(t *testing.T) {
			if kind == "S3" && os.Getenv("SERVERS_S3") == "" {
				t.Fatal("SERVERS_S3 isn't set: this test is run by .ci/servers go test -tags servers ./sinks/sinktest")
			}
			began := time.Now()
			c := StartCatalog(t, options...)
			t.Logf("the first start took %v", time.Since(began).Round(time.Millisecond))
			name := newTable(t, c)
			if err := appended(t, client(t, c.URI, time.Minute), name, 1); err != nil {
				t.Fatal(err)
			}
			c.Crash()
			began = time.Now()
			c.Start(t)
			t.Logf("the second start took %v", time.Since(began).Round(time.Millisecond))
			if err := appended(t, client(t, c.URI, time.Minute), name, 3); err != nil {
				t.Fatal(err)
			}
			if got := numbers(t, c, name); !slices.Equal(got, []int64{1, 3}) {
				t.Errorf("the table has %d; want 1 and 3", got)
			}
		})
	}
}

// Each kind of fault does to the client and to the table what it says, once.
func TestCatalogFaults(t *testing.T) {
	c := StartCatalog(t)
	for name, test := range map[string]struct {
		fault   CatalogFault
		want    error  // of the second commit
		text    string // in it
		done    bool   // whether the table has it in the end
		answers []int  // of the catalog
	}{
		"refused 500": {CatalogFault{Kind: CatalogRefused, Status: 500}, rest.ErrCommitStateUnknown, "", false, nil},
		"refused 502": {CatalogFault{Kind: CatalogRefused, Status: 502}, rest.ErrCommitStateUnknown, "", false, nil},
		"refused 503": {CatalogFault{Kind: CatalogRefused}, rest.ErrCommitStateUnknown, "", false, nil},
		"refused 504": {CatalogFault{Kind: CatalogRefused, Status: 504}, rest.ErrCommitStateUnknown, "", false, nil},
		"refused 429": {CatalogFault{Kind: CatalogRefused, Status: 429, After: "1"}, rest.ErrRESTError, "", false,
			nil},
		"refused 409": {CatalogFault{Kind: CatalogRefused, Status: 409}, rest.ErrCommitFailed, "the test refuses",
			false, nil},
		"cut":  {CatalogFault{Kind: CatalogCut}, nil, "EOF", false, nil},
		"lost": {CatalogFault{Kind: CatalogLost}, nil, "EOF", true, []int{200}},
		"masked 500": {CatalogFault{Kind: CatalogMasked, Status: 500}, rest.ErrCommitStateUnknown, "", true,
			[]int{200}},
		"masked 504": {CatalogFault{Kind: CatalogMasked, Status: 504}, rest.ErrCommitStateUnknown, "", true,
			[]int{200}},
		"late": {CatalogFault{Kind: CatalogLate, Delay: 3 * time.Second}, nil, "EOF", true, []int{200}},
		"held": {CatalogFault{Kind: CatalogHeld, Delay: 4 * time.Second}, nil, "timeout", true, []int{200}},
		"load refused": {CatalogFault{Kind: CatalogRefused, Call: CatalogLoad, Status: 429}, rest.ErrRESTError, "",
			false, nil},
		"load cut": {CatalogFault{Kind: CatalogCut, Call: CatalogLoad, Times: 9}, nil, "EOF", false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			numbered, front := newTable(t, c), c.NewFront(t)
			through := client(t, front.URI, time.Second)
			test.fault.Nth = 2
			front.Break(test.fault)
			if err := appended(t, through, numbered, 1); err != nil || front.Broke() != 0 {
				t.Fatalf("the first commit: %v; want it untouched", err)
			}
			err := appended(t, through, numbered, 2)
			if err == nil || test.want != nil && !errors.Is(err, test.want) ||
				!strings.Contains(err.Error(), test.text) {
				t.Errorf("the second commit: %v; want %v %s", err, test.want, test.text)
			}
			if test.fault.Kind == CatalogLate || test.fault.Kind == CatalogHeld {
				if got := numbers(t, c, numbered); !slices.Equal(got, []int64{1}) {
					t.Errorf("before the delay the table has %d; want 1", got)
				}
			}
			if got := front.Settle(); !slices.Equal(got, test.answers) {
				t.Errorf("the catalog's answers were %d; want %d", got, test.answers)
			}
			broke := front.Broke()
			if broke == 0 || test.fault.Times == 0 && broke != 1 {
				t.Errorf("the fault happened %d times", broke)
			}
			front.Break(CatalogFault{})
			want := []int64{1}
			if test.done {
				want = append(want, 2)
			}
			if got := numbers(t, c, numbered); !slices.Equal(got, want) {
				t.Errorf("the table has %d; want %d", got, want)
			}
			if err := appended(t, through, numbered, 3); err != nil {
				t.Errorf("the third commit: %v", err)
			}
		})
	}
}

// What is late comes to a table that has changed since, and the catalog refuses it.
func TestLateCommitConflicts(t *testing.T) {
	c := StartCatalog(t)
	name, front := newTable(t, c), c.NewFront(t)
	front.Break(CatalogFault{Kind: CatalogLate, Delay: 2 * time.Second})
	if err := appended(t, client(t, front.URI, time.Minute), name, 1); err == nil {
		t.Error("a commit whose connection ended was answered")
	}
	if err := appended(t, client(t, c.URI, time.Minute), name, 2); err != nil {
		t.Fatal(err)
	}
	if got := front.Settle(); !slices.Equal(got, []int{409}) {
		t.Errorf("the catalog answered %d to the late commit; want 409", got)
	}
	if got := numbers(t, c, name); !slices.Equal(got, []int64{2}) {
		t.Errorf("the table has %d; want 2", got)
	}
	front.Break(CatalogFault{Kind: CatalogLate, Delay: time.Second})
	_ = appended(t, client(t, front.URI, time.Minute), name, 3) // as above
	c.Crash()
	if got := front.Settle(); !slices.Equal(got, []int{0}) {
		t.Errorf("the crashed catalog answered %d; want no answer", got)
	}
	if got := [3]int{front.Seen(CatalogConfig), front.Seen(CatalogLoad), front.Seen(CatalogCommit)}; got != [3]int{2, 2,
		2} {
		t.Errorf("the front has seen %d requests for the config, loads and commits; want two of each", got)
	}
}
