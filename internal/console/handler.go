package console

import (
	"context"
	"errors"
	"net/http"
	"path"
	"strings"
	"sync"
)

// policy is the Content-Security-Policy of a page: it may load what comes from the same origin, and
// nothing else. Exported pages contain the policy themselves, where frame-ancestors has no meaning.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'"

// Handler answers GET and HEAD for every page and asset.
func (c *Console) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /asset/", http.StripPrefix("/asset/", http.FileServerFS(assets)))
	mux.HandleFunc("GET /", c.serve)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy+"; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, r)
	})
}

// serve answers one page. The path of a folder is that of its index.html.
func (c *Console) serve(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" || strings.HasSuffix(name, "/") {
		name = path.Join(name, "index.html")
	}
	content, err := c.answer(r.Context(), name)
	status := http.StatusOK
	switch {
	case errors.Is(err, errNoPage):
		status, content = http.StatusNotFound,
			[]byte("There is no such page. The overview is at the root of this address.\n")
	case err != nil:
		if r.Context().Err() == nil { // otherwise the reader has gone away, which may be the reason
			c.o.Log.Error("a page of the console could not be made", "path", name, "error", err)
		}
		status, content = http.StatusInternalServerError,
			[]byte("The page could not be made. The log of this process says why.\n")
	}
	kind := "text/html; charset=utf-8"
	if err != nil {
		kind = "text/plain; charset=utf-8"
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write(content) // the reader may have gone away
}

// mostPagesKept is how many pages are kept before all of them are forgotten.
const mostPagesKept = 500

// A pageCache holds pages that were made lately.
type pageCache struct {
	mu     sync.Mutex
	byPath map[string]*cachedValue[[]byte]
}

// answer returns a page as a server gives it. It is made at most once in Options.Age, however many
// ask for it.
func (c *Console) answer(ctx context.Context, path string) ([]byte, error) {
	if _, _, known := find(path); !known {
		return nil, errNoPage
	}
	return c.pages.entry(path).get(c.o.Now(), c.o.Age, func() ([]byte, error) {
		return c.page(context.WithoutCancel(ctx), path, true)
	})
}

// entry returns the cached page of a path, which may not be made yet.
func (d *pageCache) entry(path string) *cachedValue[[]byte] {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byPath == nil || len(d.byPath) >= mostPagesKept {
		d.byPath = map[string]*cachedValue[[]byte]{}
	}
	if d.byPath[path] == nil {
		d.byPath[path] = &cachedValue[[]byte]{}
	}
	return d.byPath[path]
}
