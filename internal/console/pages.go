package console

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A page is a kind of page, with the pattern of its paths. {job} and the like stand for one name
// each.
type page struct {
	pattern string
	view    func(*Console, context.Context, vars) (view, error)

	// each lists the names in the paths that are exported. Nil: the pattern is itself a path.
	each func(*Console, context.Context) []vars

	// unchanging means that the page in an export shows nothing that changes with the time or with
	// other pages, so that it needn't be written again: there are many of its kind.
	unchanging bool
}

// vars are the names in a path, by the words of the pattern.
type vars map[string]string

// A view is what a page shows: a template, and what it is filled with.
type view struct {
	title    string
	template string
	body     any
}

// pages lists every page.
var pages = []page{
	{pattern: "index.html", view: (*Console).overview},
	{pattern: "problems.html", view: (*Console).problems},
	{pattern: "jobs/{job}/index.html", view: (*Console).job, each: (*Console).eachJob},
	{pattern: "jobs/{job}/{day}.html", view: (*Console).partition, each: (*Console).eachPartition, unchanging: true},
	{pattern: "jobs/{job}/numbers/{number}.html", view: (*Console).series, each: (*Console).eachSeries,
		unchanging: true},
	{pattern: "overnight.html", view: (*Console).overnight},
	{pattern: "runs/index.html", view: (*Console).runList},
	{pattern: "runs/{run}.html", view: (*Console).run, each: (*Console).eachRun, unchanging: true},
}

// errNoPage says that no page has the path.
var errNoPage = errors.New("there is no such page")

// find returns the page of a path, and the names in the path.
func find(path string) (page, vars, bool) {
	for _, p := range pages {
		if names, fits := match(p.pattern, path); fits {
			return p, names, true
		}
	}
	return page{}, nil, false
}

// match returns the names in a path. A word such as {job} of the pattern stands for one or more
// characters other than a slash.
func match(pattern, path string) (vars, bool) {
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return nil, false
	}
	names := vars{}
	for i, w := range want {
		before, rest, named := strings.Cut(w, "{")
		if !named {
			if w != have[i] {
				return nil, false
			}
			continue
		}
		word, after, _ := strings.Cut(rest, "}")
		name, fits := strings.CutPrefix(have[i], before)
		name, ends := strings.CutSuffix(name, after)
		if !fits || !ends || name == "" {
			return nil, false
		}
		names[word] = name
	}
	return names, true
}

// path returns the page's pattern filled with names.
func (p page) path(names vars) string {
	path := p.pattern
	for word, name := range names {
		path = strings.ReplaceAll(path, "{"+word+"}", name)
	}
	return path
}

// frame is what every template is given.
type frame struct {
	Title string
	Root  string // leads from this page to the folder of index.html, such as "" or "../"
	Path  string
	Live  bool // a server gives the page, so that its parts can be asked for again and every partition has a page
	Dated bool // the page may show what changes with the time
	Now   time.Time
	Zone  *time.Location // in which all times are shown
	Wrong int            // how many problems all jobs have; only of a page that is Dated
	Again string         // see Options
	Body  any            // see view
}

// Policy returns what an exported page may load.
func (frame) Policy() string { return policy }

// render makes the page of a path as a file. The error is errNoPage when there is none.
func (c *Console) render(ctx context.Context, path string) ([]byte, error) {
	return c.page(ctx, path, false)
}

// page makes the page of a path, as a file or as a server gives it.
func (c *Console) page(ctx context.Context, path string, live bool) ([]byte, error) {
	p, names, known := find(path)
	if !known {
		return nil, errNoPage
	}
	v, err := p.view(c, ctx, names)
	if err != nil {
		return nil, err
	}
	f := frame{
		Title: v.title, Root: strings.Repeat("../", strings.Count(path, "/")), Path: path, Live: live, Dated: live ||
			!p.unchanging,
		Now: c.o.Now(), Zone: c.zone(), Again: c.o.Again, Body: v.body,
	}
	if f.Dated {
		f.Wrong = countWrong(allProblems(c.cache.get(ctx, nil)))
	}
	return f.draw(v.template)
}

// draw fills a template.
func (f frame) draw(template string) ([]byte, error) {
	var b bytes.Buffer
	if err := templates()[template].ExecuteTemplate(&b, "layout.html", f); err != nil {
		return nil, fmt.Errorf("page %s: %w", f.Path, err)
	}
	return b.Bytes(), nil
}

// zone returns the zone of the schedules, because people expect things at their times, or UTC when
// the schedules have several. All times are shown in it.
func (c *Console) zone() *time.Location {
	var zone *time.Location
	for _, j := range c.o.Jobs {
		if zone == nil {
			zone = j.Zone
		} else if j.Zone != nil && j.Zone.String() != zone.String() {
			return time.UTC
		}
	}
	return cmp.Or(zone, time.UTC)
}

// job shows one job: its table, the files that it pushes, or the apps that it keeps.
func (c *Console) job(ctx context.Context, names vars) (view, error) {
	s, j, known := c.cache.job(ctx, names["job"])
	switch {
	case !known:
		return view{}, errNoPage
	case j.Err != nil:
		return view{j.Name, "unreadable.html", unreadable(j.Name, j.Err, "status "+j.Name)}, nil
	case j.Inspect != nil:
		return c.table(ctx, s, j), nil
	case j.Files != nil:
		return pushedOf(s, j), nil
	case j.Apps != nil:
		return declaredOf(s, j), nil
	}
	return view{}, errNoPage
}

// eachJob names the jobs that have a page.
func (c *Console) eachJob(context.Context) (all []vars) {
	for _, j := range c.o.Jobs {
		if hasPage(j) {
			all = append(all, vars{"job": j.Name})
		}
	}
	return all
}

// hasPage tells whether a job has a page of its own.
func hasPage(j Job) bool {
	return pathSafe(j.Name) && (j.Inspect != nil || j.Files != nil || j.Apps != nil)
}
