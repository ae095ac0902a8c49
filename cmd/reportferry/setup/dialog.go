package setup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/jobs"
)

// A dialog asks one question at a time. It ends with the context or with the input, whichever is
// first.
type dialog struct {
	ctx   context.Context
	out   io.Writer
	lines <-chan string // closed at the end of the input
}

// newDialog reads answers line by line, in a goroutine of its own, because a signal doesn't
// interrupt a read.
func newDialog(ctx context.Context, in io.Reader, out io.Writer) *dialog {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			select {
			case lines <- s.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return &dialog{ctx: ctx, out: out, lines: lines}
}

// A doubt is an error that asks for an answer to be confirmed. Giving the same answer once more
// confirms it.
type doubt struct{ error }

// ask repeats a question until take accepts the answer. An empty line stands for usual, the answer
// in brackets. sure is true when the answer confirms a doubt.
func (d *dialog) ask(question, usual string, take func(answer string, sure bool) error) error {
	for doubted := ""; ; {
		fmt.Fprintf(d.out, "%s [%s]: ", question, usual)
		answer, err := d.line()
		if err != nil {
			return err
		}
		if answer == "" {
			answer = usual
		}
		err = take(answer, answer == doubted)
		if err == nil {
			return nil
		}
		if again := (doubt{}); errors.As(err, &again) {
			usual, doubted = answer, answer
		}
		for line := range strings.SplitSeq(err.Error(), "\n") {
			fmt.Fprintf(d.out, "  %s\n", strings.ReplaceAll(text.Fold(line, 78), "\n", "\n  "))
		}
	}
}

// line returns the next line of input, without surrounding spaces.
func (d *dialog) line() (string, error) {
	left := "interrupted"
	select {
	case <-d.ctx.Done():
	case line, more := <-d.lines:
		if more {
			return strings.TrimSpace(line), nil
		}
		left = "the answers ended before the questions did"
	}
	fmt.Fprintln(d.out)
	return "", &text.ExitError{Code: jobs.ExitInterrupted, Err: errors.New(left + "; no file was written")}
}

// splitList splits an answer of several words at commas, semicolons and spaces.
func splitList(answer string) []string {
	return strings.FieldsFunc(answer, func(r rune) bool { return r == ',' || r == ' ' || r == ';' })
}
