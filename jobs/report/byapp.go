package report

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/partition"
)

const appTokenIn = "app_token__in"

// apps are those whose rows are asked for by name: those of wanted that the service doesn't refuse.
// None: rows of all apps are asked for.
func (p *plan) apps() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return without(p.wanted(), p.refused)
}

// wanted are the apps of the filter or, if the config asks for that, those that the service lists.
func (p *plan) wanted() []string {
	if named := p.o.Query.Filters[appTokenIn]; len(named) > 0 || !p.o.Listed {
		return named
	}
	return p.scope.now.Apps
}

// without gives the apps of a list that aren't in another.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(app string) bool { return slices.Contains(other, app) })
}

// refusedApps are those that the service names in a refusal. some tells whether there is one that
// may be about some of the apps of the request, named or not.
func refusedApps(err error) (apps []string, some bool) {
	var answer *adjust.Error
	if !errors.As(err, &answer) {
		return nil, false
	}
	return answer.Apps, len(answer.Apps) > 0 || answer.Status == http.StatusBadRequest && answer.Metric == ""
}

// leaveOut asks for the rows of these apps no more in this run, because the service refuses them.
// It is false where there are none, or no others.
func (p *plan) leaveOut(apps []string, why error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	added := without(apps, p.refused)
	refused := slices.Concat(p.refused, added)
	if len(apps) == 0 || len(without(p.wanted(), refused)) == 0 {
		return false
	}
	p.refused = refused
	for _, app := range added {
		p.o.Log.Warn("the service refuses an app", "job", p.o.Job, "run", p.o.Run, "app", app, "error", why)
	}
	return true
}

// news tells whether some of the refused apps were in no error of the run yet. They are from now
// on.
func (p *plan) news(refused []string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	added := without(refused, p.named)
	p.named = append(p.named, added...)
	return len(added) > 0
}

// splitsByApp tells whether one partition can be asked for in pieces. Its rows must be asked for by
// apps in any case, because a list might lack one, whose rows would be missing silently. And
// app_token must be a dimension, so that no row is in two pieces.
func (f *fetch) splitsByApp() bool {
	return len(f.apps()) > 1 && slices.Contains(f.o.Query.Dimensions, "app_token")
}

// byApp fetches one partition in pieces of half the apps each, and halves a piece again that is too
// slow, or that the service refuses. The pieces become one part, so each is kept as CSV until all
// are there. An app that is refused by itself, or that the service has nothing for, is named.
// Without one that is refused the others' rows are published when totals vouch for them.
func (f *fetch) byApp(ctx context.Context, day civil.Date) (a partition.Answer, err error) {
	row := []civil.Date{day}
	var spooled []string
	defer func() {
		for _, path := range spooled {
			_ = os.Remove(path) // spool files
		}
	}()
	a.None = true
	var empty []string
	all := f.apps()
	a.Refused = without(f.wanted(), all)
	pieces := halves(all)
	for len(pieces) > 0 {
		apps := pieces[0]
		pieces = pieces[1:]
		lines := &behindHeader{}
		path, key, got, err := f.spool(ctx, row, apps, lines)
		_, no := refusedApps(err)
		if (no || errors.Is(err, adjust.ErrTooSlow)) && len(apps) > 1 {
			pieces = append(halves(apps), pieces...)
			continue
		}
		if no && f.leaveOut(apps, err) {
			a.Refused = append(a.Refused, apps...)
			continue
		}
		if err != nil {
			return partition.Answer{}, err
		}
		if !lines.some {
			empty = append(empty, apps...)
		}
		if !got.Empty {
			spooled = append(spooled, path)
			a.None = false
		}
		a.Raw = append(a.Raw, key)
		if a.Fetched.IsZero() || got.Started.Before(a.Fetched) {
			a.Fetched = got.Started
		}
	}
	if len(empty) > 0 {
		f.o.Log.Info("the service has no rows of some apps", "job", f.o.Job, "run", f.o.Run, "window", span(row),
			"apps", strings.Join(empty, " "))
	}
	if a.Raw = allOf(a.Raw); len(a.Refused) > 0 {
		a.Raw = nil // what was kept says nothing of these apps
	}
	a.Parts, err = f.convert(ctx, row, a.Fetched, spooled)
	return a, err
}

func halves(apps []string) [][]string {
	half := len(apps) / 2
	return [][]string{apps[:half], apps[half:]}
}

// behindHeader tells whether anything was written to it behind the first line.
type behindHeader struct{ ended, some bool }

func (b *behindHeader) Write(p []byte) (int, error) {
	rest := p
	if !b.ended {
		_, rest, b.ended = bytes.Cut(p, []byte("\n"))
	}
	b.some = b.some || len(bytes.TrimSpace(rest)) > 0
	return len(p), nil
}

// spool writes one whole answer into a file; key is that of its raw copy.
func (f *fetch) spool(ctx context.Context, row []civil.Date, apps []string, lines *behindHeader) (path, key string,
	got adjust.Answer, err error) {
	file, err := os.CreateTemp(f.o.SpoolDir, "reportferry-*.csv")
	if err != nil {
		return "", "", got, err
	}
	defer func() {
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
		if err != nil || got.Empty {
			_ = os.Remove(file.Name())
		}
	}()
	if err = f.further.take(); err != nil {
		return path, key, got, err
	}
	q := f.query(row)
	q.Filters = withFilter(q.Filters, appTokenIn, apps)
	q.Splittable = len(apps) > 1
	kept := f.keep(ctx, q)
	defer kept.Abort()
	got, err = f.client.CSVReport(ctx, q, func(r io.Reader) error {
		if err := file.Truncate(0); err != nil {
			return err
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		*lines = behindHeader{} // of this attempt alone
		_, err := io.Copy(io.MultiWriter(file, lines), kept.Tee(r))
		return err
	})
	if err == nil {
		key, err = f.kept(ctx, kept, got)
	}
	return file.Name(), key, got, err
}

func withFilter(filters map[string][]string, name string, values []string) map[string][]string {
	changed := map[string][]string{name: values}
	for n, v := range filters {
		if n != name {
			changed[n] = v
		}
	}
	return changed
}

// convert turns spooled answers into the parts of one row.
func (f *fetch) convert(ctx context.Context, row []civil.Date, fetched time.Time, spooled []string) ([]table.Part,
	error) {
	conv, err := f.table.Converter(f.cols.Definition, row)
	if err != nil {
		return nil, err
	}
	defer conv.Abort()
	conv.Loaded(fetched)
	for _, path := range spooled {
		if err := readFile(ctx, conv, path); err != nil {
			return nil, err
		}
	}
	return conv.Finish()
}

func readFile(ctx context.Context, conv *table.Converter, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // read only
	return conv.Read(ctx, file)
}
