package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/apps"
)

// appsJob makes a job of kind apps from its config entry.
func appsJob(_ context.Context, e *engine, c config.Job) (jobs.Job, error) {
	if e.ask.from.IsValid() || e.ask.only != nil {
		return jobs.Job{}, fmt.Errorf("job %s: %w: a job of kind apps has nothing to fetch", c.Name, jobs.ErrRefused)
	}
	kind, err := appsKind(e, c)
	if err != nil {
		return jobs.Job{}, err
	}
	return jobs.Job{Name: c.Name, Table: c.Table, Kind: kind}, nil
}

func appsKind(e *engine, c config.Job) (*apps.Kind, error) {
	refuse := func(err error) error { return fmt.Errorf("job %s: %w", c.Name, refused(err)) }
	schedule, err := jobs.ParseSchedule(c.Schedule, c.Zone)
	if err != nil {
		return nil, refuse(err)
	}
	declared, err := config.LoadApps(c.Apps.File)
	if err != nil {
		return nil, refuse(err)
	}
	o := apps.Options{
		Job: c.Name, Table: c.Table, Run: e.run, Client: e.client, Ledger: e.ledger, TicketWait: c.Apps.TicketWait,
		Schedule: schedule, IgnoreSchedule: e.ask.now, Migrate: e.ask.migrate, Log: e.log,
	}
	if e.ask.tell != nil {
		o.Tell = func(r apps.Report) { e.ask.tell(e.ask.progress, r) }
	}
	for _, a := range declared {
		app, err := resolved(a)
		if err != nil {
			return nil, refuse(fmt.Errorf("%s:%d: %w", c.Apps.File, a.Line, err))
		}
		o.Apps = append(o.Apps, app)
	}
	for _, id := range e.ask.apps {
		if !slices.ContainsFunc(o.Apps, func(a apps.App) bool { return a.ID() == id }) {
			return nil, refuse(fmt.Errorf("%s declares no app %q", c.Apps.File, id))
		}
		o.Only = append(o.Only, id)
	}
	return apps.New(o), nil
}

// resolved is a declared app with its secrets in place.
func resolved(a config.App) (apps.App, error) {
	app := apps.App{
		Name: a.Name, BundleID: a.BundleID, StoreID: a.StoreID, Platform: a.Platform, Template: a.Template, Sections: a.Sections,
		Stores: a.Stores, Editors: a.Editors, Verify: a.Verify,
	}
	var failed []error
	resolve := func(key string, v any) any {
		v, err := resolvedValue(v)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", key, err))
		}
		return v
	}
	if a.Setup != nil {
		app.Setup = map[string]map[string]any{}
		for partner, parameters := range a.Setup {
			app.Setup[partner], _ = resolve("channel_setup."+partner, parameters).(map[string]any)
		}
	}
	if a.Overrides != nil {
		app.Overrides, _ = resolve("override_settings", a.Overrides).(map[string]any)
	}
	if a.IOSSecret != "" {
		app.IOSSecret, _ = resolve("ios_pv_shared_secret", a.IOSSecret).(apps.Secret)
	}
	for _, e := range a.Events {
		app.Events = append(app.Events, apps.Event(e))
	}
	if s := a.Signature; s != nil {
		app.Signature = &apps.Signature{Enforce: s.Enforce, Fingerprints: s.Fingerprints}
	}
	return app, errors.Join(failed...)
}

// resolvedValue puts what references stand for in their place.
func resolvedValue(v any) (any, error) {
	var failed []error
	one := func(v any) any {
		v, err := resolvedValue(v)
		failed = append(failed, err)
		return v
	}
	switch v := v.(type) {
	case config.Reference:
		text, err := referenced(string(v))
		return apps.Secret(text), err
	case map[string]any:
		out := map[string]any{}
		for key, e := range v {
			out[key] = one(e)
		}
		return out, errors.Join(failed...)
	case []any:
		out := []any{}
		for _, e := range v {
			out = append(out, one(e))
		}
		return out, errors.Join(failed...)
	}
	return v, nil
}

// secretLimit bounds what a reference may stand for.
const secretLimit = 64 << 10

// referenced reads what ${NAME} or ${file:/path} stands for. Errors never repeat it.
func referenced(reference string) (string, error) {
	name := strings.TrimSuffix(strings.TrimPrefix(reference, "${"), "}")
	var text, place string
	if path, ok := strings.CutPrefix(name, "file:"); ok {
		place = "file " + path
		data, err := readAtMost(path, secretLimit)
		if err != nil {
			return "", err
		}
		text = strings.TrimRight(string(data), "\r\n")
	} else {
		place = "environment variable " + name
		text = os.Getenv(name)
	}
	switch {
	case text == "":
		return "", fmt.Errorf("%s is not set, or empty", place)
	case len(text) > secretLimit:
		return "", fmt.Errorf("%s has more than %d bytes", place, secretLimit)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return "", fmt.Errorf("%s holds a control character, such as the end of a line, or isn't UTF-8", place)
	}
	return text, nil
}

// readAtMost reads a file that may have so many bytes.
func readAtMost(path string, most int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	return readLimited(f, "file "+path, most)
}

func readLimited(r io.Reader, place string, most int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err == nil && len(data) > most {
		err = fmt.Errorf("%s has more than %d bytes", place, most)
	}
	return data, err
}
