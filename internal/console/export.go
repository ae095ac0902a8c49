package console

import (
	"context"
	"fmt"
	"io/fs"

	"gocloud.dev/blob"
)

// Export writes every page and asset to a bucket, and index.html last, so that who reads it meanwhile finds what it leads to.
func (c *Console) Export(ctx context.Context, b *blob.Bucket) error {
	names, err := fs.Glob(assets, "*")
	if err != nil {
		return err
	}
	for _, name := range names {
		content, err := fs.ReadFile(assets, name)
		if err == nil {
			err = b.WriteAll(ctx, "asset/"+name, content, nil)
		}
		if err != nil {
			return fmt.Errorf("export asset/%s: %w", name, err)
		}
	}
	var paths []string
	for _, p := range pages {
		if p.each == nil {
			paths = append(paths, p.pattern)
			continue
		}
		for _, names := range p.each(c, ctx) {
			paths = append([]string{p.path(names)}, paths...)
		}
	}
	for _, path := range paths {
		content, err := c.render(ctx, path)
		if err == nil {
			err = b.WriteAll(ctx, path, content, &blob.WriterOptions{ContentType: "text/html; charset=utf-8"})
		}
		if err != nil {
			return fmt.Errorf("export %s: %w", path, err)
		}
	}
	return nil
}
