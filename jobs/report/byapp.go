package report

import (
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

// apps are those whose rows are asked for by name: those of the filter or, if the config asks for that, those that the service lists. None: rows
// of all apps are asked for.
func (p *plan) apps() []string {
	if named := p.o.Query.Filters[appTokenIn]; len(named) > 0 || !p.o.Listed {
		return named
	}
	return p.scope.now.Apps
}

// splitsByApp tells whether one partition can be asked for in pieces. Its rows must be asked for by apps in any case, because a list
// might lack one, whose rows would be missing silently. And app_token must be a dimension, so that no row is in two pieces.
func (f *fetch) splitsByApp() bool {
	return len(f.apps()) > 1 && slices.Contains(f.o.Query.Dimensions, "app_token")
}

// byApp fetches one partition in pieces of half the apps each, and halves a piece again that is too slow, or that the service refuses. The
// pieces become one part, so each is kept as CSV until all are there. An app that is refused by itself, or that the service has nothing for, is
// named. Without one that is refused the rest is published when totals vouch for it.
func (f *fetch) byApp(ctx context.Context, day civil.Date) (a partition.Answer, err error) {
	row := []civil.Date{day}
	var spooled []string
	defer func() {
		for _, path := range spooled {
			_ = os.Remove(path) // spool files
		}
	}()
	a.None = true
	var refused, without []string
	pieces := halves(f.apps())
	for len(pieces) > 0 {
		apps := pieces[0]
		pieces = pieces[1:]
		path, key, got, err := f.spool(ctx, row, apps)
		var answer *adjust.Error
		no := errors.As(err, &answer) && answer.Status == http.StatusBadRequest && answer.Metric == ""
		if (no || errors.Is(err, adjust.ErrTooSlow)) && len(apps) > 1 {
			pieces = append(halves(apps), pieces...)
			continue
		}
		if no && len(refused)+1 < len(f.apps()) {
			refused = append(refused, apps[0])
			f.o.Log.Warn("the service refuses an app", "job", f.o.Job, "run", f.o.Run, "window", span(row), "app", apps[0], "error", err)
			continue
		}
		if err != nil {
			return partition.Answer{}, err
		}
		if got.Empty {
			without = append(without, apps...)
		} else {
			spooled = append(spooled, path)
			a.None = false
		}
		a.Raw = append(a.Raw, key)
		if a.Fetched.IsZero() || got.Started.Before(a.Fetched) {
			a.Fetched = got.Started
		}
	}
	if len(without) > 0 {
		f.o.Log.Info("the service has no rows of some apps", "job", f.o.Job, "run", f.o.Run, "window", span(row), "apps", strings.Join(without, " "))
	}
	f.refused[day] = refused
	if a.Raw = allOf(a.Raw); len(refused) > 0 {
		a.Raw = nil // what was kept says nothing of these apps
	}
	a.Parts, err = f.convert(ctx, row, a.Fetched, spooled)
	return a, err
}

func halves(apps []string) [][]string {
	half := len(apps) / 2
	return [][]string{apps[:half], apps[half:]}
}

// spool writes one whole answer into a file; key is that of its raw copy.
func (f *fetch) spool(ctx context.Context, row []civil.Date, apps []string) (path, key string, got adjust.Answer, err error) {
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
		_, err := io.Copy(file, kept.Tee(r))
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
func (f *fetch) convert(ctx context.Context, row []civil.Date, fetched time.Time, spooled []string) ([]table.Part, error) {
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
