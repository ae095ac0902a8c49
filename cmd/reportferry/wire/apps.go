package wire

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

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/config"
	declared "github.com/reportferry/reportferry/config/apps"
	"github.com/reportferry/reportferry/internal/rooted"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/apps"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// Apps makes a job of kind apps.
func Apps(_ context.Context, s *Session, c config.Job, a Ask) (jobs.Job, error) {
	if err := a.refuseRange(c, "kind apps has no past to fetch"); err != nil {
		return jobs.Job{}, err
	}
	kind, err := DeclaredApps(s, c, AppsAsk{Now: a.Now})
	if err != nil {
		return jobs.Job{}, err
	}
	return AppsJob(c, kind), nil
}

// AppsJob makes a job of kind apps from what DeclaredApps has read.
func AppsJob(c config.Job, kind *apps.Kind) jobs.Job {
	return jobs.Job{Name: c.Name, Table: c.Table, Kind: kind}
}

// An AppsAsk holds what the subcommands of apps ask of a job.
type AppsAsk struct {
	Now       bool              // ignore the schedule
	Only      []string          // IDs of the only apps to look at; nil: all declared apps
	Migrate   bool              // copy the template to the apps again, though nothing differs
	NewTicket []string          // IDs of apps to send at once, whatever became of their last migration
	Tell      func(apps.Report) // called with each app that is done; may be nil
}

// DeclaredApps reads the apps that a job's entry declares, with their secrets.
func DeclaredApps(s *Session, c config.Job, a AppsAsk) (*apps.Kind, error) {
	refuse := func(err error) error { return fmt.Errorf("job %s: %w", c.Name, text.RefusedError(err)) }
	schedule, err := refresh.ParseSchedule(c.Schedule, c.Zone)
	if err != nil {
		return nil, refuse(err)
	}
	list, err := declared.Load(c.Apps.File)
	if err != nil {
		return nil, refuse(err)
	}
	o := apps.Options{
		Job: c.Name, Table: c.Table, Run: s.RunID, Client: s.watched(c.Name, s.Client), Ledger: s.Ledger,
		TicketWait: c.Apps.TicketWait,
		Schedule:   schedule, IgnoreSchedule: a.Now, Migrate: a.Migrate, NewTicket: a.NewTicket, Log: s.Log,
		Tell: a.Tell,
	}
	for _, d := range list {
		app, err := s.resolved(d)
		if err != nil {
			return nil, refuse(fmt.Errorf("%s:%d: %w", c.Apps.File, d.Line, err))
		}
		o.Apps = append(o.Apps, app)
	}
	for _, id := range a.Only {
		if !slices.ContainsFunc(o.Apps, func(a apps.App) bool { return a.ID() == id }) {
			return nil, refuse(fmt.Errorf("%s declares no app %q", c.Apps.File, id))
		}
		o.Only = append(o.Only, id)
	}
	return apps.New(o), nil
}

// resolved returns a declared app, with its references replaced by the secrets that they stand for.
func (s *Session) resolved(a declared.App) (apps.App, error) {
	app := apps.App{
		Name: a.Name, BundleID: a.BundleID, StoreID: a.StoreID, Platform: a.Platform, Token: a.Token,
		Template: a.Template, Sections: a.Sections,
		Stores: a.Stores, Editors: a.Editors, Verify: a.Verify,
	}
	var failed []error
	resolve := func(key string, v any) any {
		v, err := s.resolvedValue(v)
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
	if sig := a.Signature; sig != nil {
		app.Signature = &apps.Signature{Enforce: sig.Enforce, Fingerprints: sig.Fingerprints}
	}
	return app, errors.Join(failed...)
}

// resolvedValue replaces the references in a value, at any depth, by the secrets that they stand
// for.
func (s *Session) resolvedValue(v any) (any, error) {
	var failed []error
	one := func(v any) any {
		v, err := s.resolvedValue(v)
		failed = append(failed, err)
		return v
	}
	switch v := v.(type) {
	case declared.Reference:
		text, err := s.referenced(string(v))
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

// secretLimit bounds the length of a secret, in bytes.
const secretLimit = 64 << 10

// referenced reads the secret that ${NAME} or ${file:/path} stands for. Errors never repeat it.
func (s *Session) referenced(reference string) (string, error) {
	name := strings.TrimSuffix(strings.TrimPrefix(reference, "${"), "}")
	var text, place string
	if path, ok := strings.CutPrefix(name, "file:"); ok {
		place = "file " + path
		data, err := readAtMost(rooted.File(s.Config.Root, path), secretLimit)
		if err != nil {
			return "", err
		}
		text = strings.TrimRight(string(data), "\r\n")
	} else {
		place = "environment variable " + name
		text = s.getenv(name)
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

// readAtMost reads a file, and refuses one of more than most bytes.
func readAtMost(path string, most int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	return ReadLimited(f, "file "+path, most)
}

// ReadLimited reads r to its end, and refuses more than most bytes. place names r in the error.
func ReadLimited(r io.Reader, place string, most int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err == nil && len(data) > most {
		err = fmt.Errorf("%s has more than %d bytes", place, most)
	}
	return data, err
}
