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

// appTokenIn is the filter that names the apps of a request.
const appTokenIn = "app_token__in"

// apps returns the apps that requests name: those of wanted that the service doesn't refuse. When
// it returns none, requests are for the rows of all apps.
func (p *plan) apps() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return without(p.wanted(), p.refused)
}

// wanted returns the apps of the config's filter or, without one and if the config asks for it,
// those that the service lists.
func (p *plan) wanted() []string {
	if named := p.o.Query.Filters[appTokenIn]; len(named) > 0 || !p.o.Listed {
		return named
	}
	return p.scope.now.Apps
}

// without returns the apps of list that aren't in other.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(app string) bool { return slices.Contains(other, app) })
}

// refusedApps returns the apps that the service names in a refusal. some tells whether err is a
// refusal that may be about some of the request's apps, whether it names them or not.
func refusedApps(err error) (apps []string, some bool) {
	var answer *adjust.Error
	if !errors.As(err, &answer) {
		return nil, false
	}
	return answer.Apps, len(answer.Apps) > 0 || answer.Status == http.StatusBadRequest && answer.Metric == ""
}

// leaveOut excludes apps from the requests of this run, because the service refuses them. It does
// nothing and returns false when apps is empty, or when no other apps would be left.
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

// noteReported notes that an error of the run names these refused apps. It returns false when
// errors have named all of them already.
func (p *plan) noteReported(refused []string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	added := without(refused, p.reported)
	p.reported = append(p.reported, added...)
	return len(added) > 0
}

// splitsByApp tells whether one partition can be fetched in pieces, each for some of the apps. The
// job's requests must name apps anyway: a list made for the split alone might lack an app, whose
// rows would be missing silently. And app_token must be a dimension, so that no row is in two
// pieces.
func (f *fetch) splitsByApp() bool {
	return len(f.apps()) > 1 && slices.Contains(f.o.Query.Dimensions, "app_token")
}

// byApp fetches one partition in pieces of half the apps each, and halves a piece again when it is
// too slow, or when the service refuses it. The pieces become one part, so each is spooled as CSV
// until all have come. The log names apps that the service refuses or has no rows for. When an app
// is refused, the rows of the others are published only if they agree with the totals.
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
		lines := &rowDetector{}
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
		if !lines.hasRows {
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
		a.Raw = nil // the kept answers lack the refused apps
	}
	a.Parts, err = f.convert(ctx, row, a.Fetched, spooled)
	return a, err
}

// halves divides apps into two lists.
func halves(apps []string) [][]string {
	half := len(apps) / 2
	return [][]string{apps[:half], apps[half:]}
}

// A rowDetector is a writer that notes whether anything but blanks follows the first line.
type rowDetector struct{ headerEnded, hasRows bool }

func (b *rowDetector) Write(p []byte) (int, error) {
	rest := p
	if !b.headerEnded {
		_, rest, b.headerEnded = bytes.Cut(p, []byte("\n"))
	}
	b.hasRows = b.hasRows || len(bytes.TrimSpace(rest)) > 0
	return len(p), nil
}

// spool fetches the rows of some apps and writes the whole answer into a file, at path. key is that
// of the answer's raw copy.
func (f *fetch) spool(ctx context.Context, row []civil.Date, apps []string, lines *rowDetector) (path, key string,
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
		*lines = rowDetector{} // of this attempt alone
		_, err := io.Copy(io.MultiWriter(file, lines), kept.Tee(r))
		return err
	})
	if err == nil {
		key, err = f.commitKept(ctx, kept, got)
	}
	return file.Name(), key, got, err
}

// withFilter returns a copy of filters in which one is set to values.
func withFilter(filters map[string][]string, name string, values []string) map[string][]string {
	changed := map[string][]string{name: values}
	for n, v := range filters {
		if n != name {
			changed[n] = v
		}
	}
	return changed
}

// convert turns spooled answers into the parts of a row of partitions.
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

// readFile gives the spooled answer at path to a converter.
func readFile(ctx context.Context, conv *table.Converter, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // read only
	return conv.Read(ctx, file)
}
