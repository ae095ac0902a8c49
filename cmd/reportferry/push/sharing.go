package push

import (
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/spf13/cobra"
)

// Sharing makes the command sharing and those below it.
func Sharing(p *wire.Program) *cobra.Command {
	g := &group{Program: p, kind: "sharing", conflict: "of devices that a file of a later day has choices of"}
	cmd := g.command("Push devices' choices on third-party sharing", `Push files of devices' choices on third-party sharing to the service. Records of
one device are sent in the order of the file, one at a time, and files by their
days. A record that isn't settled holds up the later ones of its own device, and
no others: an opt-out and the opt-in after it never change places.

No device's ID is in a log, an error or the ledger. Rejects files have them.`)
	for _, c := range cmd.Commands() {
		if c.Name() == "push" {
			c.Flags().BoolVar(&g.showIDs, "show-ids", false, "log the devices whose records weren't taken")
		}
	}
	cmd.AddCommand(g.explain())
	return cmd
}
