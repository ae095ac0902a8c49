package apps

import (
	"errors"
	"testing"

	"gocloud.dev/blob/memblob"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// told is a record whose creation reaches the store when it is signed: the store is asked for it a second time, because the
// first answer was lost.
type told struct {
	record
	first func(told)
}

func (t *told) sign() *signature {
	s := t.record.sign()
	t.first(*t)
	return s
}

// A record whose first answer was lost is the run's own; one of another run, or behind newer ones, isn't.
func TestRecordsAnswerIsLost(t *testing.T) {
	ctx := t.Context()
	folder := ledger.Open(ledger.Options{Bucket: memblob.OpenBucket(nil), URL: "mem://"}).Folder("account", "apps", "")
	create := func(key string, content any) {
		t.Helper()
		if made, err := folder.Create(ctx, key, content); err != nil || !made {
			t.Fatal(made, err)
		}
	}
	p := place{folder: folder, under: "app/one/"}
	mine := &told{record{App: "one"}, func(r told) { create("app/one/000001.json", r.record) }}
	if err := p.write(ctx, mine); err != nil || p.n != 1 {
		t.Errorf("after a lost answer: %v, number %d", err, p.n)
	}
	create("app/one/000002.json", record{App: "one", Run: "another"})
	if err := p.write(ctx, &record{App: "one"}); !errors.Is(err, ledger.ErrLost) {
		t.Errorf("another run's: %v", err)
	}

	create("app/one/1000000.json", record{App: "one", Run: "another"})
	for _, key := range []string{"app/one/000001.json", "app/one/000002.json"} {
		if err := folder.Drop(ctx, key); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.write(ctx, &record{App: "one"}); !errors.Is(err, ledger.ErrLost) {
		t.Errorf("a number that was dropped: %v", err)
	}
	if newest, err := find(ctx, folder, "app/"); err != nil || newest["app/one"] != 1_000_000 {
		t.Errorf("%v, %v", newest, err)
	}
	p.n = 1_000_000
	if err := p.write(ctx, &record{App: "one"}); err != nil {
		t.Error(err)
	}
}
