// Package dagster speaks Dagster Pipes, the protocol between an orchestrator's step and the process
// that it starts. Without it, Dagster would know that a process ended well, but not which table's
// days are there, and with what content.
//
//	DAGSTER_PIPES_CONTEXT ─ Open ─▶ Pipes ─┬─ Range: which days the step asks for
//	                                       └─ Listen ───▶ DAGSTER_PIPES_MESSAGES: materialization, checks, the result
package dagster

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
)

// Variable is the environment variable that Dagster sets for a process that it starts as a step
// (https://docs.dagster.io/guides/build/external-pipelines/dagster-pipes-details-and-customization).
const Variable = "DAGSTER_PIPES_CONTEXT"

// messages is the environment variable that says where the process writes its messages.
const messages = "DAGSTER_PIPES_MESSAGES"

// A Pipes is the connection to a Dagster step that waits for this process. A nil Pipes means that
// there is no such step.
type Pipes struct {
	wire.NoListener
	step step
	to   io.Writer
	file string // messages are appended to this file; empty: they go to the writer
}

// A step is what Dagster's context says about the step.
type step struct {
	Assets []string `json:"asset_keys"`
	Key    string   `json:"partition_key"`
	Keys   *struct {
		Start string `json:"start"`
		End   string `json:"end"`
	} `json:"partition_key_range"`
	Window *window `json:"partition_time_window"`
	Extras struct {
		Checks []string `json:"reportferry_checks"` // the checks that the asset declares
		// The window of a backfill in one run, which Dagster's own context doesn't have.
		Window *window `json:"reportferry_window"`
	} `json:"extras"`
}

// A window is a range of times in RFC 3339.
type window struct {
	Start string `json:"start"`
	End   string `json:"end"` // exclusive
}

// Open reads the step that the environment names. stdout and stderr are where messages go when the
// step reads them there.
func Open(lookup func(string) (string, bool), stdout, stderr io.Writer) (*Pipes, error) {
	variable, set := lookup(Variable)
	if !set {
		return nil, nil
	}
	p := &Pipes{}
	var at struct {
		Path string `json:"path"`
		Data *step  `json:"data"`
	}
	if err := decode(variable, &at); err != nil {
		return nil, text.UsageError(fmt.Errorf("%s: %w", Variable, err))
	}
	switch {
	case at.Data != nil:
		p.step = *at.Data
	case at.Path != "":
		content, err := os.ReadFile(at.Path)
		if err == nil {
			err = json.Unmarshal(content, &p.step)
		}
		if err != nil {
			return nil, text.UsageError(fmt.Errorf("%s: %w", Variable, err))
		}
	default:
		return nil, text.UsageError(fmt.Errorf("%s: want a path or data; other ways to pass the context aren't known "+
			"here", Variable))
	}
	variable, _ = lookup(messages)
	var way struct {
		Path     string `json:"path"`
		Stdio    string `json:"stdio"`
		Buffered string `json:"buffered_stdio"`
	}
	if err := decode(variable, &way); err != nil {
		return nil, text.UsageError(fmt.Errorf("%s: %w", messages, err))
	}
	p.file = way.Path
	switch way.Stdio + way.Buffered {
	case "stdout":
		p.to = stdout
	case "stderr":
		p.to = stderr
	default:
		if p.file == "" {
			return nil, text.UsageError(fmt.Errorf("%s: want a path, or stdout or stderr; messages to object stores "+
				"aren't known here", messages))
		}
	}
	return p, nil
}

// decode undoes base64(zlib(JSON)).
func decode(text string, into any) error {
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return err
	}
	z, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	return json.NewDecoder(z).Decode(into)
}

// Range returns the days that the step asks for, both ends included. asked is false when the step
// asks for no days, because its asset has no partitions.
func (p *Pipes) Range() (first, last string, asked bool, err error) {
	if p == nil {
		return "", "", false, nil
	}
	s := p.step
	switch w := cmp.Or(s.Extras.Window, s.Window); {
	case w != nil:
		first, err = day(w.Start, 0)
		if err == nil {
			last, err = day(w.End, -time.Nanosecond)
		}
	case s.Keys != nil:
		first, err = ofKey(s.Keys.Start)
		if err == nil {
			last, err = ofKey(s.Keys.End)
		}
	case s.Key != "":
		first, err = ofKey(s.Key)
		last = first
	default:
		return "", "", false, nil
	}
	if err != nil {
		return "", "", false, text.UsageError(fmt.Errorf("the partition of Dagster's step: %w", err))
	}
	return first, last, true, nil
}

// day returns the date of a moment plus shift, in the moment's own zone, which is that of the
// asset's partitions.
func day(text string, shift time.Duration) (string, error) {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return "", err
	}
	return civil.DateOf(at.Add(shift)).String(), nil
}

// ofKey returns the day that a partition key begins with, such as 2026-01-31 or 2026-01-31-13:00.
func ofKey(key string) (string, error) {
	if strings.Contains(key, "|") {
		return "", fmt.Errorf("%q has several dimensions; partition the asset by time alone", key)
	}
	d, err := civil.ParseDate(key[:min(len(key), len(time.DateOnly))])
	if err != nil {
		return "", errors.New("\"" + key + "\" doesn't begin with a date such as 2026-01-31")
	}
	return d.String(), nil
}
