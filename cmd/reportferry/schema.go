package main

import (
	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/exit"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/config/apps"
)

func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema [config|apps]",
		Short: "Print the JSON Schema of the config or of apps, for editors",
		Long: `Print the JSON Schema of the config, or of a file of apps. An editor that knows
YAML completes and checks a file whose first line names the one it is kept in:

  # yaml-language-server: $schema=schema.json`,
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"config", "apps"},
		RunE: func(cmd *cobra.Command, args []string) error {
			schema, err := config.Schema()
			if len(args) == 1 && args[0] == "apps" {
				schema, err = apps.Schema()
			}
			if err == nil {
				_, err = cmd.OutOrStdout().Write(schema)
			}
			return exit.Coded(err)
		},
	}
}
