package main

import (
	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/config"
)

func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the config, for editors",
		Long: `Print the JSON Schema of the config. An editor that knows YAML completes and
checks a config whose first line names the file it is kept in:

  # yaml-language-server: $schema=schema.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			schema, err := config.Schema()
			if err == nil {
				_, err = cmd.OutOrStdout().Write(schema)
			}
			return coded(err)
		},
	}
}
