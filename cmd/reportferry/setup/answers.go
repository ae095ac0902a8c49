package setup

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/cmd/reportferry/wire/want"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/config/draft"
	"github.com/reportferry/reportferry/config/preset"
	"github.com/reportferry/reportferry/internal/lazy"
)

// An answers has what the flags or the questions say about the tables. Which service to ask is kept
// in wire.Program.
type answers struct {
	apps                []string // tokens of the only apps; none: all apps of the account
	presets             []string // names
	dimensions, metrics []string // of the user's own table; empty: there is no such table
	name                string   // of the user's own table; empty: it is made of the dimensions
	currency            string
	to                  string // a folder, or a sink's URL
	start               string // empty: what a preset says, or want.UsualStart
	schedule, zone      string // a cron expression, and the zone in which it fires
	utcOffset           string // where days begin; empty or +00:00: in UTC, or in timezoneID
	timezoneID          string // zone in which days begin and end
}

// defaultAnswers returns the answers that hold when nothing else is said.
func defaultAnswers() answers {
	return answers{currency: "USD", to: "./out", schedule: "0 6 * * *", zone: "UTC"}
}

// draft returns the config for the answers; folder is where its file will be.
func (a answers) draft(s draft.Service, folder string) (draft.Config, error) {
	sink := want.SinkURL(folder, a.to)
	c := draft.Config{
		Comment: []string{
			"What to ferry where. The line above lets an editor complete and check this",
			"file by the one that it names, which reportferry schema > schema.json renews.",
			"The page config/README.md of reportferry explains every key. reportferry check",
			"tries all that a run needs, plan says what a run would fetch, run fetches it.",
		},
		Service: s, Ledger: want.LedgerBeside(sink),
	}
	for _, name := range a.presets {
		p, ok := preset.Named(name)
		if !ok {
			return c, fmt.Errorf("preset: no preset %q; want %s, which init --preset list explains", name,
				strings.Join(presetNames(), ", "))
		}
		for _, j := range p.Jobs {
			c.Jobs = append(c.Jobs, a.completeJob(j, sink))
		}
	}
	if len(a.dimensions)+len(a.metrics) > 0 {
		own := draft.Job{Name: a.name, Start: want.UsualStart, Dimensions: a.dimensions, Metrics: a.metrics}
		if own.Name == "" {
			own.Name = want.NameOf(a.dimensions)
		}
		c.Jobs = append(c.Jobs, a.completeJob(own, sink))
	}
	return c, nil
}

// text returns the config as a file. Its errors begin with the keys, or with the flags that say
// which service to ask.
func (a answers) text(p *wire.Program) ([]byte, error) {
	s, err := p.Whom()
	if err == nil {
		err = checkVariable(p)
	}
	if err != nil {
		return nil, err
	}
	c, err := a.draft(s, filepath.Dir(p.ConfigFile))
	return append([]byte("# yaml-language-server: $schema="+schemaFile+"\n"), c.YAML()...), err
}

// parsedConfig returns the config that is read back from what text returns, or an error that has
// each of its mistakes once.
func (a answers) parsedConfig(p *wire.Program) (*config.Config, error) {
	text, err := a.text(p)
	if err != nil {
		return nil, err
	}
	c, err := config.Parse("", text, p.LookupEnv)
	if err == nil {
		return c, nil
	}
	var mistakes []string // a wrong answer gives the same mistake for every table
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if !slices.Contains(mistakes, line) && !strings.HasSuffix(line, " more like it") {
			mistakes = append(mistakes, line)
		}
	}
	return nil, errors.New(strings.Join(mistakes, "\n"))
}

// usualVariable matches names of environment variables as people usually choose them. A token
// doesn't look like this.
var usualVariable = lazy.Regexp(`^[A-Z][A-Z0-9_]{0,60}$`)

// checkVariable refuses a name that is more likely the token itself than the name of its
// environment variable, because the name is written into the file.
func checkVariable(p *wire.Program) error {
	if name := missingToken(p); name != "" && !usualVariable().MatchString(name) {
		return errors.New("--token-env: want the name of an environment variable that holds the token, never the " +
			"token itself; no variable of this name is set")
	}
	return nil
}

// missingToken returns the name of the environment variable that should hold the token and is unset
// or empty. It returns "" when no token is missing.
func missingToken(p *wire.Program) string {
	name := cmp.Or(p.TokenEnv, config.DefaultTokenEnv)
	if value, _ := p.LookupEnv(name); p.Embedded || value != "" {
		return ""
	}
	return name
}

// completeJob adds to a preset's or own job what the answers say: schedule, sink, zones, currency,
// first day and apps.
func (a answers) completeJob(j draft.Job, sink string) draft.Job {
	j.Schedule, j.Sinks = a.schedule, []string{sink}
	if a.zone != "UTC" {
		j.Zone = a.zone
	}
	if _, number := strconv.Atoi(a.timezoneID); j.Zone == "" && j.Kind == "events" && number != nil {
		j.Zone = a.timezoneID // by the key timezone_id, the schedule has this zone
	}
	apps := draft.Key{Name: "filters", Value: []draft.Key{{Name: "app_token__in", Value: a.apps}}}
	if j.Kind == "events" {
		apps = draft.Key{Name: "apps", Value: a.apps}
	} else {
		j.Currency = a.currency
		j.More = slices.Concat(j.More, want.ZoneKeys(a.utcOffset, a.timezoneID))
		if a.start != "" {
			j.Start = a.start
		}
	}
	if len(a.apps) > 0 {
		j.More = append(slices.Clone(j.More), apps)
	}
	return j
}

// presetNames returns the names of all presets.
func presetNames() (names []string) {
	for _, p := range preset.All() {
		names = append(names, p.Name)
	}
	return names
}
