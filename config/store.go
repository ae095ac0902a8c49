package config

import (
	"cmp"
	"path/filepath"

	"github.com/reportferry/reportferry/config/strict"
	"github.com/reportferry/reportferry/internal/rooted"
)

// rootVariable is the environment variable that overrides the key root.
const rootVariable = "REPORTFERRY_ROOT"

// locate resolves all relative paths: against REPORTFERRY_ROOT, or else the key root, or else the
// config file's folder. Without a config file, that is the working directory.
func (c *Config) locate(d *strict.Decoder, at strict.Node) {
	// The key root is relative to the file's folder; a root in the environment goes before it.
	root := rooted.File(filepath.Dir(d.File()), cmp.Or(c.Root, "."))
	if named := d.Env(rootVariable); named != "" && d.File() != "" {
		root, c.RootNamed = named, true
	} else {
		c.RootNamed = c.Root != ""
	}
	var err error
	if c.Root, err = filepath.Abs(root); err != nil {
		d.Fail(at, "root: %v", err)
		return
	}
	if c.RootNamed {
		root = c.Root
	}
	// All values of the config that may be, or contain, a relative path.
	urls := []*string{&c.Ledger, &c.Audit, &c.Export, &c.Raw.URL}
	files := []*string{&c.SpoolDir}
	references := []*string{&c.Heartbeat, &c.Service.Token, &c.Service.Spend.Token, &c.Service.Sharing.Token}
	for _, a := range c.Accounts {
		references = append(references, &a.Token)
	}
	for i := range c.Notify {
		references = append(references, &c.Notify[i].URL)
	}
	for _, j := range c.Jobs {
		for i := range j.Sinks {
			urls = append(urls, &j.Sinks[i])
		}
		switch {
		case j.Report != nil:
			urls = append(urls, &j.Report.Raw.URL)
		case j.Spend != nil:
			urls = append(urls, &j.Spend.Source, &j.Spend.Rejects)
		case j.Sharing != nil:
			urls = append(urls, &j.Sharing.Source, &j.Sharing.Rejects)
		case j.Apps != nil:
			files = append(files, &j.Apps.File)
		}
	}
	for _, u := range urls {
		*u = rooted.URL(c.Root, *u)
	}
	for _, f := range files { // root may be relative here, so that messages name the files by it
		*f = rooted.File(root, *f)
	}
	for _, r := range references {
		*r = rooted.Reference(c.Root, *r)
	}
}
