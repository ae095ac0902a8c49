package main

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/run"
	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/config/apps"
)

// schemas returns, by name, the schemas that the command schema prints: those of files, and, under
// the name of each command that has --output, that of its answer.
func schemas(root *cobra.Command) map[string]func() ([]byte, error) {
	all := map[string]func() ([]byte, error){"config": config.Schema, "apps": apps.Schema, "log": text.LogSchema,
		"result": run.ResultSchema}
	var add func(*cobra.Command)
	add = func(cmd *cobra.Command) {
		if cmd.Flags().Lookup("output") != nil {
			all[strings.TrimPrefix(cmd.CommandPath(), root.Name()+" ")] = func() ([]byte,
				error) {
				return wire.AnswerSchema(cmd)
			}
		}
		for _, below := range cmd.Commands() {
			add(below)
		}
	}
	add(root)
	return all
}

// newSchema makes the command schema. Editors complete and check YAML with what it prints, and
// programs that read answers can check them.
func newSchema(p *wire.Program) *cobra.Command {
	return &cobra.Command{
		Use:   "schema [config|apps|log|result|command...]",
		Short: "Print a JSON Schema: of the config, apps, the log or an answer",
		Long: `Print the JSON Schema of the config, of a file of apps, of a line of the log
that --log-format json writes, of what --result writes, or of the answer of a
command with --output json: of each line of it, where it has several. An editor
that knows YAML completes and checks a file whose first line names the one it is
kept in:

  # yaml-language-server: $schema=schema.json`,
		Example: `  reportferry schema > schema.json
  reportferry schema apps list`,
		ValidArgsFunction: func(cmd *cobra.Command, given []string, _ string) (next []string,
			_ cobra.ShellCompDirective) {
			for name := range schemas(cmd.Root()) {
				if words := strings.Fields(name); len(words) > len(given) && slices.Equal(words[:len(given)], given) {
					next = append(next, words[len(given)])
				}
			}
			slices.Sort(next)
			return slices.Compact(next), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			all, name := schemas(cmd.Root()), cmp.Or(strings.Join(args, " "), "config")
			if all[name] == nil {
				return text.UsageError(fmt.Errorf("schema %q: want one of %s", name,
					strings.Join(slices.Sorted(maps.Keys(all)), ", ")))
			}
			schema, err := all[name]()
			if err == nil {
				_, err = cmd.OutOrStdout().Write(p.Identified(name, schema))
			}
			return text.WithExitCode(err)
		},
	}
}

// The linker sets these for a release or an image: -X main.released=v1.2.3 -X main.revision=HASH -X
// main.committed=2026-11-26T10:00:00Z. They are empty in any other build; thisBuild then takes
// revision and committed from the Go toolchain's stamp, if there is one.
var released, revision, committed string

// version returns the released version, or else the module's version as the Go toolchain stamped
// it: a tag, a revision or "devel".
func version() string {
	if released != "" {
		return released
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

// A build describes a binary, for the command version.
type build struct {
	Version  string   `json:"version"`
	Commit   string   `json:"commit,omitempty"`
	Date     string   `json:"date,omitempty"` // of the commit, in RFC 3339
	Go       string   `json:"go"`
	Platform string   `json:"platform"`
	Sinks    []string `json:"sinks"`
	Without  []string `json:"without"` // sinks that another build has
}

// thisBuild describes the running program. The commit and its date are empty where neither the
// linker nor the toolchain recorded them.
func thisBuild() build {
	b := build{
		Version: version(), Commit: revision, Date: committed, Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Sinks:    slices.Sorted(maps.Keys(openers)), Without: []string{},
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = cmp.Or(b.Commit, s.Value)
			case "vcs.time":
				b.Date = cmp.Or(b.Date, s.Value)
			}
		}
	}
	if !withIceberg {
		b.Sinks = slices.DeleteFunc(b.Sinks, func(scheme string) bool { return scheme == "iceberg" })
		b.Without = []string{"iceberg"}
	}
	return b
}

// String returns what version and --version print: one line that names the build, one with its
// commit if it is known, and one with its sinks.
func (b build) String() string {
	text := fmt.Sprintf("reportferry %s %s %s\n", b.Version, b.Go, b.Platform)
	if b.Commit != "" {
		text += strings.TrimSpace("commit "+b.Commit+" "+b.Date) + "\n"
	}
	text += "sinks: " + strings.Join(b.Sinks, ", ")
	if len(b.Without) > 0 {
		text += " (not in this build: " + strings.Join(b.Without, ", ") + ")"
	}
	return text
}

// newVersion makes the command version.
func newVersion(p *wire.Program) *cobra.Command {
	var form *wire.Output
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and its date, and the sinks",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if form.Given() == wire.JSON { // not --log-format, because scripts read the plain line
				return text.JSON(cmd.OutOrStdout(), thisBuild())
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), thisBuild())
			return err
		},
	}
	form = p.AddOutput(cmd, "one object", build{})
	return cmd
}
