package console

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/bucket/buckettest"
)

// filesOf gives the content of every file of a bucket.
func filesOf(t *testing.T, b *bucket.Bucket) map[string]string {
	t.Helper()
	all := map[string]string{}
	objects, err := b.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		content, _, err := b.Get(t.Context(), o.Key)
		if err != nil {
			t.Fatal(err)
		}
		all[o.Key] = string(content)
	}
	return all
}

func write(t *testing.T, b *bucket.Bucket, name, content string) error {
	t.Helper()
	_, err := b.Put(t.Context(), name, []byte(content), bucket.Condition{})
	return err
}

func exported(t *testing.T, c *Console, b *bucket.Bucket) Exported {
	t.Helper()
	did, err := c.Export(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return did
}

func TestExportedPagesAreThoseThatAreServed(t *testing.T) {
	c := madeUp(t)
	var order []string
	b := buckettest.NewFaulty(new(bucket.Memory), func(call bucket.Call) buckettest.Fate {
		if call.Op == bucket.OpPut {
			order = append(order, call.Key)
		}
		return buckettest.Fate{}
	})
	did := exported(t, c, b)
	all := filesOf(t, b)
	w := httptest.NewRecorder()
	c.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	header, _, _ := strings.Cut(w.Header().Get("Content-Security-Policy"), "; frame-ancestors")
	policy := `<meta charset="utf-8">` + "\n" + `<meta http-equiv="Content-Security-Policy" content="` +
		strings.ReplaceAll(header, "'", "&#39;") + `">`
	if did.Written != len(all)-1 || did.Unchanged+did.Removed > 0 || len(all) < 10 {
		t.Errorf("%+v of %d files", did, len(all))
	}
	for name, content := range all {
		if o, err := b.Blob().Attributes(t.Context(), name); name != manifestName &&
			(err != nil || contentTypes[path.Ext(name)] == "" && path.Ext(name) != ".LICENSE") {
			t.Errorf("%s has the content type %q: %v", name, o.ContentType, err)
		}
		if !strings.HasSuffix(name, ".html") {
			continue
		}
		if !strings.Contains(header, "default-src 'none'") || !strings.Contains(content, policy) {
			t.Errorf("%s hasn't the policy that is served: %s", name, header)
		}
		served, err := c.page(t.Context(), name, true)
		if err != nil {
			t.Fatal(err)
		}
		body := func(page string) string {
			_, after, _ := strings.Cut(page, "<body>")
			before, _, _ := strings.Cut(after, "<footer>")
			return before
		}
		if !strings.Contains(content, string(ownPage)) || body(content) != body(string(served)) &&
			!strings.Contains(string(served), "hx-") {
			t.Errorf("%s is served otherwise", name)
		}
	}
	first, last := order[0], order[len(order)-2:]
	if first != manifestName || !strings.HasPrefix(order[1], "asset/") || last[0] != "index.html" ||
		last[1] != manifestName {
		t.Errorf("written in this order: %v", order)
	}
}

func TestExportAgain(t *testing.T) {
	c, b := madeUp(t), bucket.NewMemory()
	foreign := map[string]string{"jobs/note.txt": "mine", "index.htm": "mine", "runs/x.html": "mine"}
	for name, content := range foreign {
		if err := write(t, b, name, content); err != nil {
			t.Fatal(err)
		}
	}
	first := exported(t, c, b)
	if again := exported(t, c, b); again != (Exported{Unchanged: first.Written}) {
		t.Errorf("with nothing new: %+v, at first %+v", again, first)
	}
	if err := c.o.Ledger.ForgetRun(t.Context(), madeUpRuns()[2]); err != nil {
		t.Fatal(err)
	}
	before := filesOf(t, b)
	c.o.Now = func() time.Time { return noon.Add(25 * time.Hour) }
	c = New(c.o)
	third := exported(t, c, b)
	all := filesOf(t, b)
	if _, there := all["runs/"+oldRun+".html"]; there || third.Removed != 1 || third.Written == 0 ||
		third.Unchanged < 2 {
		t.Errorf("with a run forgotten: %+v, its page is there: %v", third, there)
	}
	for name, content := range before { // a day later they would all be written again otherwise
		if strings.HasPrefix(name, "jobs/campaigns/2026") && !strings.Contains(content, oldRun) &&
			all[name] != content {
			t.Errorf("%s has changed, and nothing of its partition has", name)
		}
	}
	for name, content := range foreign {
		if all[name] != content {
			t.Errorf("%s is %q", name, all[name])
		}
	}
	c.o.Jobs = append(c.o.Jobs[:0:0], c.o.Jobs[:1]...)
	c.o.Jobs[0].Inspect = looks("campaigns", TableState{}, errors.New("no answer")).Inspect
	if did := exported(t, New(c.o), b); did.Removed != 0 {
		t.Errorf("with a job that can't be read: %+v", did)
	}
}

// Somebody else's page is never replaced, not even by the second try.
func TestExportLeavesForeignPages(t *testing.T) {
	for _, name := range []string{"index.html", "asset/style.css", "runs/" + oldRun + ".html"} {
		c, b := madeUp(t), bucket.NewMemory()
		if err := write(t, b, name, "<title>Our shop</title>"); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := c.Export(t.Context(), b); !errors.Is(err, errForeign) || !strings.Contains(err.Error(), name) {
				t.Errorf("over a foreign %s: %v", name, err)
			}
		}
		if err := c.o.Ledger.ForgetRun(t.Context(), madeUpRuns()[2]); err != nil {
			t.Fatal(err)
		}
		_, _ = New(c.o).Export(t.Context(), b)
		if filesOf(t, b)[name] != "<title>Our shop</title>" {
			t.Errorf("the foreign %s was replaced or removed", name)
		}
	}
}

// An export that is cut off at any write leaves whole files alone, and the next one ends what it
// began.
func TestExportIsCutOff(t *testing.T) {
	for cut := 1; ; cut++ {
		c, m, writes := madeUp(t), new(bucket.Memory), 0
		b := m.Open()
		ctx, cancel := context.WithCancel(t.Context())
		_, err := c.Export(ctx, buckettest.NewFaulty(m, func(call bucket.Call) buckettest.Fate {
			if call.Op == bucket.OpPut {
				if writes++; writes == cut {
					cancel()
				}
			}
			return buckettest.Fate{}
		}))
		cancel()
		if err == nil {
			if cut < 10 {
				t.Errorf("it ends well though it was cut off at write %d", cut)
			}
			return
		}
		want := bucket.NewMemory()
		exported(t, c, want)
		whole := filesOf(t, want)
		for name, content := range filesOf(t, b) {
			if name != manifestName && content != whole[name] {
				t.Errorf("cut off at write %d: %s is half there", cut, name)
			}
		}
		if did := exported(t, c, b); did.Written+did.Unchanged != len(whole)-1 {
			t.Errorf("after a cut at write %d: %+v", cut, did)
		}
		for name, content := range filesOf(t, b) {
			if content != whole[name] {
				t.Errorf("after a cut at write %d: %s isn't as it should be", cut, name)
			}
		}
	}
}

func TestDamagedManifest(t *testing.T) {
	c, b := madeUp(t), bucket.NewMemory()
	exported(t, c, b)
	if err := write(t, b, manifestName, "{"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Export(t.Context(), b); err == nil || !strings.Contains(err.Error(), "delete it") {
		t.Errorf("with a damaged list: %v", err)
	}
	if err := b.Delete(t.Context(), manifestName); err != nil {
		t.Fatal(err)
	}
	if did := exported(t, c, b); did.Written == 0 {
		t.Errorf("without a list: %+v", did)
	}
}

// Of two exports at once the one that began first loses at its end, and says so. An answer that was
// lost is no loss.
func TestExportsAtOnce(t *testing.T) {
	c, m, other := madeUp(t), new(bucket.Memory), false
	near, later := m.Open(), c.o
	later.Now = func() time.Time { return noon.Add(25 * time.Hour) }
	_, err := c.Export(t.Context(), buckettest.NewFaulty(m, func(call bucket.Call) buckettest.Fate {
		if call.Key == "index.html" && !other {
			other = true
			exported(t, New(later), near)
		}
		return buckettest.Fate{Twice: call.Op == bucket.OpPut}
	}))
	if !errors.Is(err, bucket.ErrConflict) {
		t.Errorf("two exports at once: %v", err)
	}
	for range 2 {
		exported(t, c, buckettest.NewFaulty(m,
			func(call bucket.Call) buckettest.Fate { return buckettest.Fate{Twice: call.Op == bucket.OpPut} }))
	}
}
