//go:build browser

package console

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/reportferry/reportferry/internal/bucket"
)

var (
	axe   = flag.String("axe", "", "the file axe.min.js of axe-core")
	shots = flag.String("shots", "", "a folder for pictures of all pages")
)

// browser starts Chromium and gives a context for its tabs.
func browser(t *testing.T) context.Context {
	t.Helper()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.DisableGPU,
		chromedp.Flag("disable-background-networking", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(end)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("these tests need Chromium: %v", err)
	}
	return ctx
}

// A tab is a page of the browser, and what it complained of.
type tab struct {
	context.Context
	mu         sync.Mutex
	complaints []string
}

// open opens a tab that listens to complaints: violations of the policy, errors of scripts, files
// that aren't there.
func open(t *testing.T, browser context.Context) *tab {
	t.Helper()
	tb := &tab{}
	ctx, end := chromedp.NewContext(browser, chromedp.WithListener(func(event any) {
		tb.mu.Lock()
		defer tb.mu.Unlock()
		switch e := event.(type) {
		case *log.EventEntryAdded:
			tb.complaints = append(tb.complaints, e.Entry.Text+" "+e.Entry.URL)
		case *runtime.EventExceptionThrown:
			tb.complaints = append(tb.complaints, fmt.Sprint(e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
		}
	}))
	t.Cleanup(end)
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(cancel)
	tb.Context = ctx
	tell(t, tb, log.Enable, cdp.Empty{})
	tell(t, tb, runtime.Enable, cdp.Empty{})
	return tb
}

// tell sends the browser a command.
func tell[P, R any](t *testing.T, tb *tab, command cdp.Command[P, R], with P) {
	t.Helper()
	if _, err := chromedp.Call(tb, command, with); err != nil {
		t.Fatal(err)
	}
}

// get runs an action that has an answer.
func get[T any](t *testing.T, tb *tab, action chromedp.Action[T]) T {
	t.Helper()
	answer, err := chromedp.Run(tb, action)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// do runs actions, and fails the test when one of them does.
func (tb *tab) do(t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(tb, actions...); err != nil {
		t.Fatal(err)
	}
}

// quiet fails when the page has complained since the last call.
func (tb *tab) quiet(t *testing.T, what string) {
	t.Helper()
	tb.mu.Lock()
	defer tb.mu.Unlock()
	for _, c := range tb.complaints {
		t.Errorf("%s: the browser says: %s", what, c)
	}
	tb.complaints = nil
}

func theme(t *testing.T, tb *tab, name string) {
	t.Helper()
	tell(t, tb, emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme",
			Value: name}}})
}

// shown are the pages that are looked at: one of each kind.
var shown = map[string]string{
	"overview": "index.html", "problems": "problems.html", "overnight": "overnight.html", "runs": "runs/index.html",
	"run":   "runs/" + nightRun + ".html",
	"table": "jobs/campaigns/index.html", "partition": "jobs/campaigns/2026-01-10.html",
	"differing": "jobs/campaigns/2026-01-04.html",
	"series":    "jobs/campaigns/numbers/cost.html", "spend": "jobs/spend/index.html", "apps": "jobs/apps/index.html",
}

// Every page, light and dark, on a phone and on screens: axe finds nothing, nothing sticks out, and
// the policy is kept.
func TestPagesInABrowser(t *testing.T) {
	script, err := os.ReadFile(*axe)
	if err != nil {
		t.Fatalf("-axe: %v", err)
	}
	server := httptest.NewServer(madeUp(t).Handler())
	defer server.Close()
	b := browser(t)
	for name, path := range shown {
		tb := open(t, b)
		for _, wide := range []int64{360, 1280, 1920} {
			for _, colours := range []string{"light", "dark"} {
				what := fmt.Sprintf("%s-%d-%s", name, wide, colours)
				theme(t, tb, colours)
				tb.do(t, chromedp.EmulateViewport(wide, 900), chromedp.Navigate(server.URL+"/"+path))
				if get(t, tb, chromedp.Evaluate[bool](`document.documentElement.scrollWidth > innerWidth`)) {
					t.Errorf("%s: it must be scrolled sideways", what)
				}
				tb.quiet(t, what)
				if *shots != "" {
					if err := os.WriteFile(filepath.Join(*shots, what+".png"), get(t, tb, chromedp.FullScreenshot(100)),
						0o600); err != nil {
						t.Fatal(err)
					}
				}
				for _, v := range accessible(t, tb, string(script)) {
					t.Errorf("%s: %s", what, v)
				}
				tb.complaints = nil // of what axe itself does
			}
		}
	}
}

// accessible asks axe what is wrong with the page.
func accessible(t *testing.T, tb *tab, axe string) (list []string) {
	t.Helper()
	get(t, tb, chromedp.Evaluate[int](axe+";0"))
	text := get(t, tb, chromedp.Evaluate[string](
		`axe.run(document, {resultTypes: ['violations']}).then(r => JSON.stringify(r.violations))`,
		chromedp.EvalAwaitPromise))
	var violations []struct {
		ID, Help string
		Nodes    []struct{ HTML, FailureSummary string }
	}
	if err := json.Unmarshal([]byte(text), &violations); err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		for _, n := range v.Nodes {
			list = append(list, fmt.Sprintf("%s (%s): %s: %s", v.Help, v.ID, n.HTML, n.FailureSummary))
		}
	}
	return list
}

// With scripts off every page looks the same, but for the one chart that they make zoomable.
func TestPagesWithoutScripts(t *testing.T) {
	server := httptest.NewServer(madeUp(t).Handler())
	defer server.Close()
	b := browser(t)
	for name, path := range shown {
		var pictures [2][]byte
		for i, off := range []bool{false, true} {
			tb := open(t, b)
			tell(t, tb, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: off})
			tb.do(t, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(server.URL+"/"+path))
			pictures[i] = get(t, tb, chromedp.FullScreenshot(100))
			tb.quiet(t, path)
		}
		if same := bytes.Equal(pictures[0], pictures[1]); same == (name == "series") {
			t.Errorf("%s looks the same without scripts: %v", name, same)
		}
	}
}

// A person without a mouse goes from the overview through the calendar to a partition.
func TestKeyboardAlone(t *testing.T) {
	server := httptest.NewServer(madeUp(t).Handler())
	defer server.Close()
	tb := open(t, browser(t))
	focused := func() string {
		return get(t, tb, chromedp.Evaluate[string](`document.activeElement.getAttribute('href') || ''`))
	}
	until := func(key, href string) {
		t.Helper()
		for range 60 {
			if tb.do(t, chromedp.KeyEvent(key)); focused() == href {
				return
			}
		}
		t.Fatalf("%s isn't reached", href)
	}
	follow := func(want string) {
		t.Helper()
		tb.do(t, chromedp.KeyEvent(kb.Enter))
		at := ""
		for range 50 {
			tb.do(t, chromedp.Sleep(50*time.Millisecond))
			if at = get(t, tb, chromedp.Location()); strings.HasSuffix(at, want) {
				return
			}
		}
		t.Fatalf("the link leads to %s, want %s", at, want)
	}
	tb.do(t, chromedp.Navigate(server.URL+"/"))
	until(kb.Tab, "jobs/campaigns/index.html")
	follow("/jobs/campaigns/index.html")
	until(kb.Tab, "2026-01-02.html") // the first partition of the calendar
	for _, step := range []struct{ key, want string }{
		{kb.ArrowRight, "2026-01-03.html"}, {kb.End, "2026-01-11.html"}, {kb.ArrowLeft, "2026-01-10.html"},
		{kb.ArrowDown, "2026-01-10.html"}, {kb.Home, "2026-01-01.html"},
		{kb.End, "2026-01-11.html"}, {kb.ArrowLeft, "2026-01-10.html"},
	} {
		if tb.do(t, chromedp.KeyEvent(step.key)); focused() != step.want {
			t.Fatalf("after the key %q the focus is on %q, want %s", step.key, focused(), step.want)
		}
	}
	follow("/jobs/campaigns/2026-01-10.html")
	tb.quiet(t, "keyboard")
}

// A page that a server gives reads itself again; the reader's focus isn't taken away.
func TestPagesRefresh(t *testing.T) {
	c := madeUp(t)
	now := noon
	c.o.Now = func() time.Time { return now }
	server := httptest.NewServer(c.Handler())
	defer server.Close()
	tb := open(t, browser(t))
	tb.do(t, chromedp.Navigate(server.URL+"/"))
	before := get(t, tb, chromedp.Text("footer"))
	now = now.Add(time.Hour)
	get(t, tb, chromedp.Evaluate[bool](`htmx.trigger(document.getElementById('content'), 'refresh')`))
	tb.do(t, chromedp.Sleep(500*time.Millisecond))
	after := get(t, tb, chromedp.Text("footer"))
	if before == after || !strings.Contains(after, "14:00") {
		t.Errorf("before %q, after %q", before, after)
	}
	tb.do(t, chromedp.Focus("main a"))
	if !get(t, tb, chromedp.Evaluate[bool](`busy(document.getElementById('content'))`)) {
		t.Error("a page is read again under a reader's focus")
	}
	tb.quiet(t, "refreshing")
}

// What Export writes is opened from a folder, without a server, and from a bucket's server. Every
// link of it leads somewhere.
func TestExportInABrowser(t *testing.T) {
	dir := folderOf(t, madeUp(t))
	bucket := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer bucket.Close()
	crawl(t, bucket.URL+"/index.html")
	b := browser(t)
	for name, path := range shown {
		for _, at := range []string{"file://" + dir, bucket.URL} {
			tb := open(t, b)
			tb.do(t, chromedp.Navigate(at+"/"+path))
			title, ground := get(t, tb, chromedp.Text("h1")),
				get(t, tb, chromedp.Evaluate[string](`getComputedStyle(document.body).backgroundColor`))
			if title == "" || ground == "rgba(0, 0, 0, 0)" {
				t.Errorf("%s: its title is %q, and its ground %s", name, title, ground)
			}
			tb.quiet(t, at+"/"+path)
		}
	}
}

// crawl follows every link from a page on, and fails when one leads nowhere or too few do.
func crawl(t *testing.T, from string) {
	t.Helper()
	links := regexp.MustCompile(`(?:href|src)="?([^"#> ]+)"?`)
	seen, next := map[string]bool{from: true}, []string{from}
	for len(next) > 0 {
		at, err := url.Parse(next[0])
		if err != nil {
			t.Fatal(err)
		}
		next = next[1:]
		res, err := http.Get(at.String()) //nolint:noctx // a server of this test
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK {
			t.Errorf("%s leads nowhere: %d, %v", at, res.StatusCode, err)
			continue
		}
		if !strings.HasSuffix(at.Path, ".html") {
			continue
		}
		for _, link := range links.FindAllStringSubmatch(string(page), -1) {
			to, err := at.Parse(link[1])
			if err != nil {
				t.Fatalf("%s has the link %s: %v", at, link[1], err)
			}
			if !seen[to.String()] {
				seen[to.String()] = true
				next = append(next, to.String())
			}
		}
	}
	if len(seen) < 20 {
		t.Errorf("%d pages and files are linked", len(seen))
	}
}

// folderOf writes an export to a folder.
func folderOf(t *testing.T, c *Console) string {
	t.Helper()
	dir := t.TempDir()
	b, err := bucket.Open(t.Context(), "file://"+dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	exported(t, c, b)
	return dir
}
