package console

import (
	"errors"
	"net/http"
	"path"
	"strings"
)

// policy lets a page load what is beside it, and nothing else.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler answers GET and HEAD for every page and asset.
func (c *Console) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /asset/", http.StripPrefix("/asset/", http.FileServerFS(assets)))
	mux.HandleFunc("GET /", c.serve)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
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
	content, err := c.page(r.Context(), name, true)
	status := http.StatusOK
	switch {
	case errors.Is(err, errNoPage):
		status, content = http.StatusNotFound, []byte("There is no such page. The overview is at the root of this address.\n")
	case err != nil:
		if r.Context().Err() == nil { // else the reader has gone away, and that may be why
			c.o.Log.Error("a page of the console could not be made", "path", name, "status", err)
		}
		status, content = http.StatusInternalServerError, []byte("The page could not be made. The log of this process says why.\n")
	}
	kind := "text/html; charset=utf-8"
	if err != nil {
		kind = "text/plain; charset=utf-8"
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write(content) // the reader may have gone away
}
