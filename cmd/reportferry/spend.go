package main

import "github.com/spf13/cobra"

func newSpend(f *flags) *cobra.Command {
	s := &pushFlags{flags: f, kind: "spend", conflict: "whose cost_id was pushed with other content"}
	cmd := s.command("Push files of ad spend, and see what became of them", `Push files of ad spend to the service, record by record. What became of each
record is in the ledger: no record is sent twice but those whose answer was
lost, and none of a file that was stopped half way is left out.`)
	cmd.AddCommand(s.reconcile())
	return cmd
}
