package config

import (
	"path/filepath"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// AppsJob is what a job of kind apps keeps as a file declares it.
type AppsJob struct {
	File       string        // the file of apps, as LoadApps reads it
	TicketWait time.Duration // for one migration to end, before it is left for the next run
}

// appsKeys are the keys of kind apps.
func appsKeys(j *Job) object {
	a := &AppsJob{TicketWait: 15 * time.Minute}
	j.Apps = a
	return object{
		fields: []field{
			required("file", line, &a.File, "File that declares the apps, such as apps.yaml; relative to the folder of the config."),
			optional("ticket_wait", duration(time.Second), &a.TicketWait, "Time for one migration to end, such as 15m; after that it is left for the next run."),
		},
		check: func(d *decoder, _ ast.Node, _ map[string]ast.Node) {
			if a.File != "" && !filepath.IsAbs(a.File) {
				a.File = filepath.Join(filepath.Dir(d.file), a.File)
			}
		},
	}
}
