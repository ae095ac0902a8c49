package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// What net/http says of an answer that nobody asked for goes through the program's log: as JSON for
// machines, in the log's form for people, and where a run is shown.
func TestWhatTheStandardLoggerSays(t *testing.T) {
	for format, want := range map[string]string{
		"json": `"severity":"WARNING","message":"Unsolicited response received on idle HTTP channel starting with \"HTTP/1.1 400`,
		"text": ` warn Unsolicited response received on idle HTTP channel starting with "HTTP/1.1 400`,
	} {
		for _, runs := range []bool{false, true} {
			p := newProgram()
			out := &aloud{over: make(chan struct{})}
			root := newRoot(p)
			root.AddCommand(&cobra.Command{Use: "unsolicited", RunE: func(cmd *cobra.Command, _ []string) error {
				if runs {
					newDisplay(p, cmd.OutOrStdout(), io.Discard)
					if format == "text" {
						newDisplay(p, io.Discard, cmd.ErrOrStderr())
					}
				}
				return unsolicited(cmd.Context(), out.over)
			}})
			root.SetOut(out)
			root.SetErr(out)
			root.SetArgs([]string{"unsolicited", "--log-format", format})
			flags, before := log.Flags(), log.Writer()
			err := root.ExecuteContext(t.Context())
			log.SetFlags(flags)
			log.SetOutput(before)
			if err != nil || strings.Count(unfolded(out.text.String()), want) != 1 {
				t.Errorf("%s, of a run: %v: %q, %v", format, runs, out.text.String(), err)
			}
		}
	}
	flags, before := log.Flags(), log.Writer()
	if code := execute(t.Context(), []string{"version"}, io.Discard, io.Discard); code != 0 || log.Flags() != flags ||
		log.Writer() != before {
		t.Errorf("exit code %d; the standard logger isn't as it was", code)
	}
}

// aloud notes what is written, and that it was.
type aloud struct {
	text bytes.Buffer
	over chan struct{}
}

func (w *aloud) Write(b []byte) (int, error) {
	defer close(w.over)
	return w.text.Write(b)
}

// unsolicited asks a server that answers once more than it was asked, and waits until that is over.
func unsolicited(ctx context.Context, over chan struct{}) error {
	client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn,
		error) {
		here, there := net.Pipe()
		go func() {
			_, _ = http.ReadRequest(bufio.NewReader(there))
			_, _ = io.WriteString(there, "HTTP/1.1 204 No Content\r\n\r\n")
			_, _ = io.WriteString(there, "HTTP/1.1 400 Bad Request\r\n\r\n")
		}()
		return here, nil
	}}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://service.test/", nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	<-over
	return nil
}
