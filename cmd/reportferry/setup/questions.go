package setup

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/cmd/reportferry/wire/want"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/adjust"
)

// ownTable is the answer that asks for a table beside those of the presets.
const ownTable = "own"

// mostApps is how many apps are listed above the question for the apps.
const mostApps = 15

// An interview fills in the answers, question by question. Each answer is tried at once: the config
// that includes it must be valid.
type interview struct {
	*dialog
	program *wire.Program
	cmd     *cobra.Command
	answers
	warned int // how many warnings of the config the user has confirmed so far
}

// runInterview asks all questions and returns the completed answers.
func runInterview(cmd *cobra.Command, p *wire.Program, a answers) (answers, error) {
	a.presets = presetNames()[:1]
	i := &interview{dialog: newDialog(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout()), program: p, cmd: cmd,
		answers: a}
	fmt.Fprintf(i.out, "This writes %s. Enter takes what is in brackets, Ctrl-C ends it.\n\n", p.ConfigFile)
	for _, step := range []func() error{i.askService, i.askApps, i.askTables, i.askCommon} {
		if err := step(); err != nil {
			return i.answers, err
		}
	}
	return i.answers, nil
}

// askService asks which service to use, and for the variable that holds its token.
func (i *interview) askService() error {
	err := i.ask("The real service, or the example, which is a made-up account", "real",
		func(answer string, _ bool) error {
			i.program.Embedded = strings.EqualFold(answer, "example")
			if !i.program.Embedded && !strings.EqualFold(answer, "real") {
				return errors.New("want real or example")
			}
			return nil
		})
	if err != nil || i.program.Embedded {
		return err
	}
	tryTo := func(to *string) func(string, bool) error {
		return func(answer string, _ bool) error {
			*to = answer
			return i.tryAnswers(true, func(*answers) {})
		}
	}
	if err := i.ask("Its address", config.DefaultBaseURL, tryTo(&i.program.BaseURL)); err != nil {
		return err
	}
	return i.ask("Environment variable that holds the API token", config.DefaultTokenEnv, tryTo(&i.program.TokenEnv))
}

// askApps lists the apps of the account, if it can, and asks which of them to fetch.
func (i *interview) askApps() error {
	if name := missingToken(i.program); name != "" {
		fmt.Fprintf(i.out, "  %s isn't set, so the apps can't be listed here\n", name)
	}
	c, err := i.parsedConfig(i.program)
	if err != nil {
		return err
	}
	var apps []adjust.Filter
	if missingToken(i.program) == "" {
		if apps, err = listApps(i.cmd, i.program, c); err != nil {
			fmt.Fprintf(i.out, "  the apps can't be listed: %v\n", err)
		}
	}
	g := text.Grid{Heads: []string{"", "TOKEN", "APP"}, Right: []bool{true}, Most: []int{0, 20, 50}}
	for n, a := range apps[:min(len(apps), mostApps)] {
		g.Rows = append(g.Rows, []string{strconv.Itoa(n + 1), a.ID, a.Name})
	}
	if len(apps) > 0 {
		g.Write(i.out)
	}
	if more := len(apps) - mostApps; more > 0 {
		fmt.Fprintf(i.out, "and %d more\n", more)
	}
	return i.ask("Apps, by number, token or name: a,b", "all", func(answer string, sure bool) error {
		var names []string
		if answer != "all" {
			names = strings.Split(answer, ",")
		}
		for at, name := range names {
			names[at] = strings.TrimSpace(name)
			if n, err := strconv.Atoi(names[at]); err == nil && n >= 1 && n <= len(apps) {
				names[at] = apps[n-1].ID
			}
		}
		tokens, err := appTokens(apps, names)
		return cmp.Or(err, i.tryAnswers(sure, func(next *answers) { next.apps = tokens }))
	})
}

// askTables asks for the presets, and for the dimensions, metrics and name of the user's own table.
func (i *interview) askTables() error {
	fmt.Fprintln(i.out)
	presetTable(true).Write(i.out)
	err := i.ask("Tables: a,b", i.presets[0], func(answer string, sure bool) error {
		chosen := splitList(answer)
		mine := slices.Contains(chosen, ownTable)
		chosen = slices.DeleteFunc(chosen, func(name string) bool { return name == ownTable })
		return i.tryAnswers(sure, func(next *answers) {
			next.presets, next.dimensions, next.metrics = chosen, nil, nil
			if mine {
				next.dimensions, next.metrics = []string{"day", "network"}, []string{"installs", "cost"}
			}
		})
	})
	if err != nil || i.dimensions == nil {
		return err
	}
	for _, q := range []struct {
		question string
		to       func(*answers) *[]string
	}{
		{"Dimensions of your own table: a,b", func(a *answers) *[]string { return &a.dimensions }},
		{"Its metrics: a,b", func(a *answers) *[]string { return &a.metrics }},
	} {
		err := i.ask(q.question, strings.Join(*q.to(&i.answers), ","), func(answer string, sure bool) error {
			return i.tryAnswers(sure, func(next *answers) { *q.to(next) = splitList(answer) })
		})
		if err != nil {
			return err
		}
	}
	return i.askText("Its name", want.NameOf(i.dimensions), func(a *answers) *string { return &a.name })
}

// askCommon asks for what all tables share: first day, zones, currency, sink and schedule.
func (i *interview) askCommon() error {
	fmt.Fprintln(i.out)
	const each = "each table's own"
	err := i.ask("First day wanted: a date, or days ago such as -90d", each, func(answer string, sure bool) error {
		if answer == each {
			answer = ""
		}
		return i.tryAnswers(sure, func(next *answers) { next.start = answer })
	})
	if err != nil {
		return err
	}
	err = i.ask("Zone in which a day begins and ends, such as Europe/Berlin", "UTC",
		func(answer string, sure bool) error {
			if answer == "UTC" {
				answer = ""
			}
			return i.tryAnswers(sure, func(next *answers) { next.timezoneID = answer })
		})
	if err != nil {
		return err
	}
	for _, q := range []struct {
		question string
		to       func(*answers) *string
	}{
		{"Currency of money", func(a *answers) *string { return &a.currency }},
		{"Where to: a folder, or gs://, s3://, azblob://bucket/prefix,\n  bigquery://project/dataset,\n  " +
			"postgres://user@host/database/schema,\n  or iceberg://catalog/namespace?type=rest&uri=...",
			func(a *answers) *string { return &a.to }},
		{"When to look, as cron: minute hour day month weekday", func(a *answers) *string { return &a.schedule }},
		{"Zone of that time, such as Europe/Berlin", func(a *answers) *string { return &a.zone }},
	} {
		if i.timezoneID != "" && q.to(&i.answers) == &i.zone { // the schedule then has the zone of the days
			continue
		}
		if err := i.askText(q.question, *q.to(&i.answers), q.to); err != nil {
			return err
		}
	}
	fmt.Fprintln(i.out)
	return nil
}

// askText asks for a single text answer, which is stored through to.
func (i *interview) askText(question, usual string, to func(*answers) *string) error {
	return i.ask(question, usual, func(answer string, sure bool) error {
		return i.tryAnswers(sure, func(next *answers) { *to(next) = answer })
	})
}

// tryAnswers applies a change to the answers if the resulting config is valid. sure says that the
// user has confirmed new warnings; without it, they are returned as a doubt.
func (i *interview) tryAnswers(sure bool, change func(*answers)) error {
	next := i.answers
	change(&next)
	c, err := next.parsedConfig(i.program)
	switch {
	case err != nil:
		return err
	case len(c.Warnings) > i.warned && !sure:
		var texts []string
		for _, w := range c.Warnings[i.warned:] {
			texts = append(texts, w.Msg)
		}
		return doubt{errors.New(strings.Join(append(texts, "Enter takes it all the same."), "\n"))}
	}
	i.answers, i.warned = next, len(c.Warnings)
	return nil
}
