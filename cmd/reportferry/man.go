package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
)

// newMan makes the command man. Cobra has a writer of its own, by way of Markdown, which runs lines
// of tables together and makes the binary half a megabyte bigger.
func newMan() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "man",
		Short: "Write manual pages, one for each command",
		Long: `Write a manual page for each command into a folder, which is made if it isn't
there. Their date is that of SOURCE_DATE_EPOCH, in seconds since 1970, or else
the commit's.`,
		Example: `  reportferry man --out ~/.local/share/man/man1
  man reportferry-run`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := os.MkdirAll(out, 0o755); err != nil {
				return text.WithExitCode(fmt.Errorf("make the folder of the manual pages: %w", err))
			}
			date, _, _ := strings.Cut(thisBuild().Date, "T")
			if seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
				date = time.Unix(seconds, 0).UTC().Format(time.DateOnly)
			}
			return text.WithExitCode(writeMan(cmd.Root(), out, date))
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "the `folder`")
	_ = cmd.MarkFlagRequired("out") // the flag was just defined
	return cmd
}

// writeMan writes the pages of a command and of those below it.
func writeMan(cmd *cobra.Command, dir, date string) error {
	page := func(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }
	var text, commands strings.Builder
	also := []string{}
	if cmd.HasParent() {
		also = append(also, page(cmd.Parent())+"(1)")
	}
	for _, sub := range cmd.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		if err := writeMan(sub, dir, date); err != nil {
			return err
		}
		fmt.Fprintf(&commands, "  %-12s%s\n", sub.Name(), sub.Short)
		also = append(also, page(sub)+"(1)")
	}
	fmt.Fprintf(&text, ".TH %q 1 %q %q\n.SH NAME\n%s \\- %s\n", strings.ToUpper(page(cmd)), date,
		"reportferry "+version(), roff(page(cmd)), roff(cmd.Short))
	for _, s := range [][2]string{
		{"SYNOPSIS", cmd.UseLine()}, {"DESCRIPTION", cmp.Or(cmd.Long, cmd.Short)}, {"COMMANDS", commands.String()},
		{"OPTIONS", cmd.NonInheritedFlags().FlagUsagesWrapped(72)},
		{"OPTIONS OF EVERY COMMAND", cmd.InheritedFlags().FlagUsagesWrapped(72)},
		{"EXAMPLES", cmd.Example}, {"SEE ALSO", strings.Join(also, ", ")},
	} {
		if strings.TrimSpace(s[1]) == "" {
			continue
		}
		fmt.Fprintf(&text, ".SH %s\n", s[0])
		for paragraph := range strings.SplitSeq(strings.Trim(s[1], "\n"), "\n\n") {
			if strings.HasPrefix(paragraph, " ") || strings.Contains(paragraph, "\n ") { // its lines stay as they are
				fmt.Fprintf(&text, ".PP\n.nf\n%s\n.fi\n", roff(paragraph))
			} else {
				fmt.Fprintf(&text, ".PP\n%s\n", roff(paragraph))
			}
		}
	}
	return os.WriteFile(filepath.Join(dir, page(cmd)+".1"), []byte(text.String()), 0o644)
}

// roff escapes text so that man shows it unchanged: backslashes, dashes (as ASCII, for copying),
// and dots and apostrophes at the beginning of a line.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n.", "\n\\&.", "\n'", "\n\\&'").Replace("\n" + text)
	return text[1:]
}
