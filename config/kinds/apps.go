package kinds

import (
	"time"

	"github.com/reportferry/reportferry/config/shape"
	"github.com/reportferry/reportferry/config/strict"
)

// Apps is what a job of kind apps keeps as a file declares it.
type Apps struct {
	File       string        // the file of apps, which package config/apps reads
	TicketWait time.Duration // how long one migration may take before it is left for the next run
}

// appsKeys returns the keys of kind apps.
func appsKeys(j *Settings) strict.Object {
	a := &Apps{TicketWait: 15 * time.Minute}
	j.Apps = a
	return strict.Object{
		Fields: []strict.Field{
			shape.Mandatory(shape.Place("file", strict.OneLine(strict.Text, 4096), &a.File, "apps.yaml",
				"File that declares the apps.")),
			strict.Optional("ticket_wait", strict.Duration(time.Second), &a.TicketWait, "30m",
				"How long one migration may take. After that it is left for the next run."),
		},
	}
}
