package console

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/reportferry/reportferry/internal/bucket"
)

// mostWrites is how many files are written at once. Each takes a buffer.
const mostWrites = 4

// Exported counts the files of an export.
type Exported struct{ Written, Unchanged, Removed int }

// Export writes every page and asset to a bucket, as of one moment. A page is written after what it
// refers to, and index.html last, so that readers find what its links lead to. Files that are as
// the last export left them aren't written again; those that it wrote and that aren't pages any
// more are removed. No other file is touched, and no file is ever there in part.
func (c *Console) Export(ctx context.Context, b *bucket.Bucket) (Exported, error) {
	x := export{bucket: b, console: c.asOf(c.o.Now()), hashes: map[string]string{}}
	err := x.run(ctx)
	if err != nil {
		err = fmt.Errorf("export the console's pages: %w", err)
	}
	return x.counts, err
}

// An export is the state of one call of Export.
type export struct {
	bucket       *bucket.Bucket
	console      *Console
	lastManifest manifest         // what the last export wrote
	replaceIf    bucket.Condition // under which the manifest may be replaced

	mu     sync.Mutex
	hashes map[string]string // of the files that were written or are unchanged, by path
	counts Exported
}

// run first lists in the manifest all that it may write, so that an export that is cut off can be
// mended.
func (x *export) run(ctx context.Context) (err error) {
	if err := x.readManifest(ctx); err != nil {
		return err
	}
	// The manifest first names all files of both exports.
	groups, whole, err := x.console.paths(ctx)
	if err != nil {
		return err
	}
	begun := manifest{Pages: map[string]string{}, Export: rand.Text()}
	for _, name := range slices.Concat(append(groups, slices.Collect(maps.Keys(x.lastManifest.Pages)))...) {
		begun.Pages[name] = ""
	}
	if err := x.writeManifest(ctx, begun); err != nil {
		return err
	}
	// A group is written when the one before it is.
	for _, group := range groups {
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(mostWrites)
		for _, name := range group {
			g.Go(func() error { return x.writeFile(ctx, name) })
		}
		if err := g.Wait(); err != nil {
			return err
		}
	}
	// What is left over goes, and the manifest gets the hashes.
	if err := x.remove(ctx, whole); err != nil {
		return err
	}
	return x.writeManifest(ctx, manifest{Pages: x.hashes})
}

// paths lists the files of an export: assets, then the pages that are many, then the others, and
// index.html. whole is true when everything that pages are named by could be read.
func (c *Console) paths(ctx context.Context) (groups [][]string, whole bool, err error) {
	groups = make([][]string, 4)
	names, err := fs.Glob(assets, "*")
	if err != nil {
		return nil, false, err
	}
	for _, name := range names {
		groups[0] = append(groups[0], "asset/"+name)
	}
	for _, p := range pages {
		switch {
		case p.each != nil:
			for _, names := range p.each(c, ctx) {
				groups[1] = append(groups[1], p.path(names))
			}
		case p.pattern == "index.html":
			groups[3] = append(groups[3], p.pattern)
		default:
			groups[2] = append(groups[2], p.pattern)
		}
	}
	s := c.cache.get(ctx, nil)
	whole = s.err == nil && !slices.ContainsFunc(s.jobs, func(j JobStatus) bool { return j.Err != nil })
	return groups, whole, ctx.Err()
}

// writeFile writes a page or an asset, unless it is as the last export left it.
func (x *export) writeFile(ctx context.Context, name string) (err error) {
	var content []byte
	if asset, is := strings.CutPrefix(name, "asset/"); is {
		content, err = fs.ReadFile(assets, asset)
	} else {
		content, err = x.console.render(ctx, name)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	hash := hashOf(content)
	was := x.lastManifest.Pages[name]
	unchanged := hash == was
	if !unchanged {
		if was == "" {
			err = mayWrite(ctx, x.bucket, name, content)
		}
		if err == nil {
			err = put(ctx, x.bucket, name, content)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.hashes[name] = hash
	if unchanged {
		x.counts.Unchanged++
	} else {
		x.counts.Written++
	}
	return nil
}

// remove deletes the files that the last export wrote and this one didn't. If something couldn't be
// read it deletes none, because a page may only seem to be gone.
func (x *export) remove(ctx context.Context, whole bool) error {
	for name, hash := range x.lastManifest.Pages {
		if _, kept := x.hashes[name]; kept {
			continue
		}
		if !whole {
			x.hashes[name] = hash
			continue
		}
		if hash == "" && mayWrite(ctx, x.bucket, name, nil) != nil {
			continue // an export that was cut off only meant to write it; the file is somebody else's
		}
		if err := x.bucket.Delete(ctx, name); err != nil {
			return fmt.Errorf("remove %s: %w", name, err)
		}
		x.counts.Removed++
	}
	return nil
}

// contentTypes has the content types of files by the extension of their name.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".json": "application/json",
	".svg":  "image/svg+xml", ".png": "image/png", ".md": "text/markdown; charset=utf-8",
	".txt": "text/plain; charset=utf-8", "": "text/plain; charset=utf-8",
}

// put writes a file. Browsers are told to ask each time whether there is a newer one.
func put(ctx context.Context, b *bucket.Bucket, name string, content []byte) error {
	_, err := b.PutFile(ctx, name, bucket.File{
		Size: int64(len(content)), ContentType: contentTypes[path.Ext(name)], CacheControl: "no-cache",
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
	}, bucket.Condition{})
	return err
}
