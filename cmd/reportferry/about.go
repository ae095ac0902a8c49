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

	"github.com/reportferry/reportferry/cmd/reportferry/exit"
	"github.com/reportferry/reportferry/cmd/reportferry/human"
	"github.com/reportferry/reportferry/cmd/reportferry/logs"
	"github.com/reportferry/reportferry/cmd/reportferry/result"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/config/apps"
)

// newSchema makes the command schema, for editors that complete and check YAML.
func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema [config|apps|log|result]",
		Short: "Print a JSON Schema: of the config, apps, the log or a result",
		Long: `Print the JSON Schema of the config, of a file of apps, of a line of the log
that --log-format json writes, or of what --result writes. An editor that knows
YAML completes and checks a file whose first line names the one it is kept in:

  # yaml-language-server: $schema=schema.json`,
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"config", "apps", "log", "result"},
		RunE: func(cmd *cobra.Command, args []string) error {
			schema, err := config.Schema()
			switch {
			case slices.Equal(args, []string{"apps"}):
				schema, err = apps.Schema()
			case slices.Equal(args, []string{"log"}):
				schema, err = logs.Schema()
			case slices.Equal(args, []string{"result"}):
				schema, err = result.Schema()
			}
			if err == nil {
				_, err = cmd.OutOrStdout().Write(schema)
			}
			return exit.Coded(err)
		},
	}
}

// What the linker sets for a release or an image: -X main.released=v1.2.3 -X main.revision=HASH -X main.committed=2026-11-26T10:00:00Z.
// They are empty in any other build, and the last two wherever the Go toolchain has stamped them.
var released, revision, committed string

// version is the released version, or else the module's version as the Go toolchain stamped it: a tag, a revision or "devel".
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

// A build is what version prints.
type build struct {
	Version  string   `json:"version"`
	Commit   string   `json:"commit,omitempty"`
	Date     string   `json:"date,omitempty"` // of the commit, in RFC 3339
	Go       string   `json:"go"`
	Platform string   `json:"platform"`
	Sinks    []string `json:"sinks"`
	Without  []string `json:"without"` // sinks that another build has
}

// thisBuild gives what is known of the running program; the commit and its date aren't where neither the linker nor the toolchain had them.
func thisBuild() build {
	b := build{
		Version: version(), Commit: revision, Date: committed, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Sinks: slices.Sorted(maps.Keys(openers)), Without: []string{},
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

// String is what version and --version print: a line that names the build, one with its commit, and one with the sinks that are in it.
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
			if form.Given() == wire.JSON { // whatever the log is: scripts read the line
				return human.JSON(cmd.OutOrStdout(), thisBuild())
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), thisBuild())
			return err
		},
	}
	form = p.AddOutput(cmd, "one object")
	return cmd
}
