package text

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/lazy"
)

// otherToolsFlags maps flags of other tools to the flag that does the same here, in one command or
// another.
var otherToolsFlags = map[string]string{
	"start": "from", "start-date": "from", "since": "from", "date-from": "from", "interval-start": "from",
	"begin": "from",
	"end":   "to", "end-date": "to", "until": "to", "date-to": "to", "interval-end": "to",
	"full-refresh": "force", "full": "force", "refresh": "force", "reset": "force", "overwrite": "force",
	"date": "date-period", "period": "date-period", "days": "date-period", "file": "out", "o": "out",
	"c": "config", "f": "config", "config-file": "config", "config-path": "config", "metric": "metrics",
	"dimension": "dimensions", "where": "filter",
	"token": "token-env", "api-token": "token-env", "api-key": "token-env", "url": "base-url", "host": "base-url",
	"max-rows": "limit", "as": "output",
	"verbose": "log-level", "v": "log-level", "debug": "log-level", "quiet": "log-level", "q": "log-level",
	"log": "log-format",
}

// flagError explains an error about a flag: the command doesn't have it, it lacks its value, or its
// value is of the wrong kind. Behind a mistyped command the flag is not at fault.
func flagError(c *cobra.Command, err error) error {
	lead := commandName(c)
	var missing *pflag.NotExistError
	var empty *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &missing) && c.HasSubCommands() && c.Flags().NArg() > 0:
		return unknownCommand(c, c.Flags().Arg(0))
	case errors.As(err, &missing):
		return fmt.Errorf("%s has no flag %s", lead, unknownFlag(c, missing))
	case errors.As(err, &empty):
		what, _ := pflag.UnquoteUsage(empty.GetFlag())
		return fmt.Errorf("%s: --%s lacks its value: --%s <%s>", lead, empty.GetFlag().Name, empty.GetFlag().Name, what)
	case errors.As(err, &invalid):
		if want := map[string]string{
			"int": "a whole number", "bool": "true or false", "float64": "a number",
			"duration": "a length of time such as 90s or 10m",
		}[invalid.GetFlag().Value.Type()]; want != "" {
			return fmt.Errorf("--%s %q: want %s", invalid.GetFlag().Name, invalid.GetValue(), want)
		}
		return fmt.Errorf("--%s %q: %w", invalid.GetFlag().Name, invalid.GetValue(), errors.Unwrap(invalid))
	}
	return fmt.Errorf("%s: %w; %s --help lists the flags", lead, err, c.CommandPath())
}

// unknownFlag names an unknown flag as it was given, and says what was likely meant.
func unknownFlag(c *cobra.Command, e *pflag.NotExistError) string {
	name, given := e.GetSpecifiedName(), "--"+e.GetSpecifiedName()
	if short := e.GetSpecifiedShortnames(); short != "" {
		given = "-" + short
		if daysAgo().MatchString(short) {
			return fmt.Sprintf("%s; an argument that begins with - stands behind --, as in: %s -- %s", given,
				strings.TrimSuffix(c.UseLine(), " [flags]"), given)
		}
		if len(short) > 1 { // one dash in front of a whole word
			name = short
		}
	}
	shows := map[string]string{"run": "plan", "serve": "plan", "apps apply": "apps plan",
		"spend push": "spend check", "sharing push": "sharing check"}[commandName(c)]
	if name == "dry-run" && shows != "" {
		return given + "; reportferry " + shows + " shows what it would do, and sends nothing"
	}
	if name == "job" && strings.Contains(c.Use, "job") {
		return given + "; the name of a job stands alone: " + c.CommandPath() + " campaigns_daily"
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	near := catalog.Nearest(name, names)
	if c.Flags().Lookup(otherToolsFlags[name]) != nil {
		near = []string{otherToolsFlags[name]}
	} else if len(name) < 2 {
		near = nil
	}
	if len(near) == 0 {
		return given + "; " + c.CommandPath() + " --help lists its flags"
	}
	return given + "; did you mean --" + strings.Join(near, " or --") + "?"
}

// daysAgo matches a day before today, such as -30d, without its dash.
var daysAgo = lazy.Regexp(`^[0-9]+d$`)

// The messages of cobra, the flag library, about flags that need or exclude each other.
var (
	oneIsRequired     = lazy.Regexp(`^at least one of the flags in the group \[(.*)\] is required$`)
	allAreRequired    = lazy.Regexp(`^if any flags in the group \[.*\] are set they must all be set; missing \[(.*)\]$`)
	oneExcludesOthers = lazy.Regexp(
		`^if any flags in the group \[.*\] are set none of the others can be; \[(.*)\] were all set$`)
	flagIsRequired = lazy.Regexp(`^required flag\(s\) "(.*)" not set$`)
)

// PlainFlagError replaces a message of cobra about missing or conflicting flags by a plainer one.
// It returns other errors as they are.
func PlainFlagError(err error) error {
	flags := func(list, sep string) string { return "--" + strings.Join(strings.Fields(list), sep+"--") }
	for form, say := range map[*regexp.Regexp]func(list string) string{
		oneIsRequired(): func(list string) string {
			if len(strings.Fields(list)) == 1 {
				return flags(list, "") + " is missing; --help says what it is"
			}
			return "want one of " + flags(list, ", ") + "; --help says what each is"
		},
		allAreRequired(): func(list string) string {
			return flags(list,
				" and ") + " is missing, which goes with the other one"
		},
		oneExcludesOthers(): func(list string) string {
			return flags(list,
				" and ") + " exclude each other; leave one of them out"
		},
		flagIsRequired(): func(list string) string {
			return flags(strings.ReplaceAll(list, `", "`, " "), " and ") + " is missing; --help says what it is"
		},
	} {
		if m := form.FindStringSubmatch(err.Error()); m != nil {
			return errors.New(say(m[1]))
		}
	}
	return err
}
