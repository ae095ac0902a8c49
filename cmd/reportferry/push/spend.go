package push

import (
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/spf13/cobra"
)

// Spend makes the command spend and those below it.
func Spend(p *wire.Program) *cobra.Command {
	g := &group{Program: p, kind: "spend", conflict: "whose cost_id was pushed with other content"}
	cmd := g.command("Push files of ad spend, and see what became of them", `Push files of ad spend to the service, record by record. What became of each
record is in the ledger: no record is sent twice but those whose answer was
lost, and none of a file that was stopped half way is left out.`)
	cmd.AddCommand(g.reconcile())
	return cmd
}
