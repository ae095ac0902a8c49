package report

import (
	"context"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/jobs/raw"
)

// keep begins to keep the answer to a query, as it comes.
func (f *fetch) keep(ctx context.Context, q adjust.ReportQuery) *raw.Kept {
	query, _ := q.Encode() // the client returns the same error when it sends the query
	return f.o.Raw.Keep(ctx, raw.Request{From: q.From, Until: q.Until, Query: query})
}

// commitKept publishes the copy of an accepted answer, and returns its name. When the copy can't be
// kept, it counts that and returns an empty name, so that the rows are published all the same. If
// the config requires the copy, it returns the error instead: then the partitions fail, and their
// old rows stay.
func (f *fetch) commitKept(ctx context.Context, k *raw.Kept, got adjust.Answer) (key string, err error) {
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

// allOf returns the keys, or nil if one is missing: what was made of several answers can't be made
// again of only some of them.
func allOf(keys []string) []string {
	for _, key := range keys {
		if key == "" {
			return nil
		}
	}
	return keys
}

// sweep deletes raw answers that are too old to be kept. An error doesn't fail the run, because the
// next one tries again.
func (p *plan) sweep(ctx context.Context) {
	n, err := p.o.Raw.Sweep(ctx, p.now)
	switch {
	case err != nil:
		p.o.Log.Warn("old raw answers stay", "job", p.o.Job, "run", p.o.Run, "error", err)
	case n > 0:
		p.o.Log.Info("old raw answers are deleted", "job", p.o.Job, "run", p.o.Run, "answers", n)
	}
}
