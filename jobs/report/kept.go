package report

import (
	"context"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/jobs/raw"
)

// keep begins to keep the answer to a query, as it comes.
func (f *fetch) keep(ctx context.Context, q adjust.ReportQuery) *raw.Kept {
	query, _ := q.Encode() // the client says what is wrong with it
	return f.o.Raw.Keep(ctx, raw.Request{From: q.From, Until: q.Until, Query: query})
}

// kept publishes the copy of an accepted answer, and gives its key. When that can't be had, the
// answer is published all the same and counted, unless the config wants the copy: then the error
// fails the partitions, whose old rows stay.
func (f *fetch) kept(ctx context.Context, k *raw.Kept, got adjust.Answer) (key string, err error) {
	key, err = k.Commit(raw.Answer{Status: got.Status, Headers: raw.OfUse(got.Header), Fetched: got.Started,
		Bytes: got.Bytes})
	if err == nil || f.o.Raw.Must() || ctx.Err() != nil {
		return key, err
	}
	f.out.Unkept++
	f.o.Log.Warn("a raw answer isn't kept, so that what is made of it can't be replayed", "job", f.o.Job, "run",
		f.o.Run, "error", err)
	return "", nil
}

// allOf gives the keys, unless one is missing: what is made of several answers can't be made again
// of some of them.
func allOf(keys []string) []string {
	for _, key := range keys {
		if key == "" {
			return nil
		}
	}
	return keys
}

// sweep deletes answers that are older than they are kept. That these can't be deleted is no
// failure of the run's: the next one tries again.
func (p *plan) sweep(ctx context.Context) {
	n, err := p.o.Raw.Sweep(ctx, p.now)
	switch {
	case err != nil:
		p.o.Log.Warn("old raw answers stay", "job", p.o.Job, "run", p.o.Run, "error", err)
	case n > 0:
		p.o.Log.Info("old raw answers are deleted", "job", p.o.Job, "run", p.o.Run, "answers", n)
	}
}
