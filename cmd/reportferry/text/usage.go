package text

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/internal/catalog"
)

// ExplainUsage makes every command below root say what is wrong with its arguments and flags.
func ExplainUsage(root *cobra.Command) {
	root.SetFlagErrorFunc(flagError)
	help := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if CheckHelpTopic(c) == nil {
			help(c, args)
		}
	})
	explainEach(root)
	root.InitDefaultHelpCmd()
	if c, _, err := root.Find([]string{"help"}); err == nil {
		c.Args = func(_ *cobra.Command, args []string) error {
			group, left, _ := root.Find(args)
			if group.HasSubCommands() && len(left) > 0 {
				return unknownCommand(group, left[0])
			}
			return nil
		}
	}
}

// CheckHelpTopic returns an error when the help of a group was asked for with the name of a command
// that the group doesn't have, and nil otherwise. The library would print the group's help instead.
func CheckHelpTopic(c *cobra.Command) error {
	if args := c.Flags().Args(); c.Annotations["group"] != "" && len(args) > 0 {
		return unknownCommand(c, args[0])
	}
	return nil
}

// explainEach makes a command and all commands below it say what is wrong with their arguments.
func explainEach(c *cobra.Command) {
	if c.HasSubCommands() && !c.Runnable() {
		c.Annotations = map[string]string{"group": "true"} // for the template of help: it does nothing of its own
		c.Args = cobra.ArbitraryArgs
		c.RunE = func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			return unknownCommand(c, args[0])
		}
	} else if takes := c.Args; takes != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if takes(c, args) == nil {
				return nil
			}
			return wrongArguments(c, args)
		}
	}
	for _, sub := range c.Commands() {
		explainEach(sub)
	}
}

// meantCommands maps names of commands that people may try to the commands that do the same here.
var meantCommands = map[string]string{
	"sync": "run", "ingest": "run", "start": "run", "load": "run", "etl": "run", "execute": "run",
	"validate": "check", "test": "check", "doctor": "check", "lint": "check", "verify": "check",
	"new": "init", "create": "init", "setup": "init", "configure": "init", "reload": "backfill", "resync": "backfill",
	"ls": "status", "list": "status", "jobs": "status", "state": "status", "daemon": "serve", "schedule": "serve",
	"server": "serve",
	"query":  "report", "fetch": "report", "download": "report", "get": "report", "metrics": "fields",
	"dimensions": "fields", "mock": "emulator",
}

// unknownCommand returns the error for a name that no command of the group has.
func unknownCommand(c *cobra.Command, name string) error {
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	near := catalog.Nearest(name, names)
	if slices.Contains(names, meantCommands[name]) {
		near = []string{meantCommands[name]}
	}
	hint := c.CommandPath() + " --help lists the commands"
	if len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	if !c.HasParent() {
		return fmt.Errorf("there is no command %q; %s", name, hint)
	}
	return fmt.Errorf("%s has no command %q; %s", commandName(c), name, hint)
}

// wrongArguments returns an error that says which argument is missing, too many or not allowed.
func wrongArguments(c *cobra.Command, args []string) error {
	needs, most := argumentsOf(c)
	lead := commandName(c)
	switch {
	case len(args) < len(needs):
		missing := needs[len(args):]
		verb := "is"
		if len(missing) > 1 {
			verb = "are"
		}
		return fmt.Errorf("%s: %s %s missing, as in: %s", lead, strings.Join(missing, " and "), verb,
			exampleOf(c, needs))
	case most == 0:
		return fmt.Errorf("%s takes no arguments, and %q is one; values of flags stand behind their flags: %s --help",
			lead, args[0], c.CommandPath())
	case len(args) > most:
		return fmt.Errorf("%s: %q is one argument too many, as in: %s", lead, args[most], exampleOf(c, needs))
	}
	return fmt.Errorf("%s: %q is none of %s", lead, args[0], strings.Join(c.ValidArgs, ", "))
}

// commandName returns the command's path without the program's name.
func commandName(c *cobra.Command) string {
	return strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")
}

// argumentsOf reads from the usage line of a command which arguments it needs, and how many it
// takes at most.
func argumentsOf(c *cobra.Command) (needs []string, most int) {
	flag := false
	for _, word := range strings.Fields(c.Use)[1:] {
		switch {
		case strings.HasPrefix(strings.TrimLeft(word, "["), "-"):
			flag = true // the next word is its value
			continue
		case flag:
		case strings.Contains(word, "..."):
			most = 1 << 20
			fallthrough
		default:
			most++
			if strings.HasPrefix(word, "<") {
				needs = append(needs, strings.TrimSuffix(word, "..."))
			}
		}
		flag = false
	}
	return needs, most
}

// sampleValues has the values of arguments in examples for commands that have no example of their
// own.
var sampleValues = map[string]string{"<app>": "android/com.example.game", "<job>": "campaigns_daily",
	"<secret-id>": "1", "<file>": "spend.csv"}

// exampleOf returns the first example of the command, or one that is made of its arguments.
func exampleOf(c *cobra.Command, needs []string) string {
	text := strings.ReplaceAll(c.Example, "\\\n", " ")
	for line := range strings.Lines(text) {
		if line = strings.Join(strings.Fields(line), " "); strings.HasPrefix(line, c.CommandPath()+" ") {
			return line
		}
	}
	words := []string{c.CommandPath()}
	for _, n := range needs {
		if s, ok := sampleValues[n]; ok {
			n = s
		}
		words = append(words, n)
	}
	return strings.Join(words, " ")
}
