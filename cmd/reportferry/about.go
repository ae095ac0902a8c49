package main

import (
	"github.com/spf13/cobra"

	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/cmd/reportferry/exit"
	"github.com/reportferry/reportferry/cmd/reportferry/logs"
	"github.com/reportferry/reportferry/cmd/reportferry/result"
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

// released is the version of a release or an image, which the linker sets: -X main.released=v1.2.3. It is empty in any other
// build.
var released string

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

// about is what version and --version print: a line that names the build, and one with the sinks that are in it.
func about() string {
	in, without := slices.Sorted(maps.Keys(openers)), ""
	if !withIceberg {
		in = slices.DeleteFunc(in, func(scheme string) bool { return scheme == "iceberg" })
		without = " (not in this build: iceberg)"
	}
	return fmt.Sprintf("reportferry %s %s %s/%s\nsinks: %s%s", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, strings.Join(in, ", "), without)
}

// newVersion makes the command version.
func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), about())
			return err
		},
	}
}
