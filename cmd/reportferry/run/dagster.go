package run

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

// DagsterVariable is the environment variable that Dagster sets for a process that it starts as a
// step
// (https://docs.dagster.io/guides/build/external-pipelines/dagster-pipes-details-and-customization).
const DagsterVariable = "DAGSTER_PIPES_CONTEXT"

// dagsterMessages is the environment variable that says where the process writes its messages.
const dagsterMessages = "DAGSTER_PIPES_MESSAGES"

// A DagsterPipes is the connection to a Dagster step that waits for this process. A nil one means
// that there is no such step.
type DagsterPipes struct {
	wire.NoListener
	step   dagsterStep
	writer io.Writer // standard output or standard error, as Dagster asks
	file   string    // messages are appended to this file; empty: they go to the writer
}

// A dagsterStep is what Dagster's context says about the step.
type dagsterStep struct {
	Assets []string `json:"asset_keys"`
	Key    string   `json:"partition_key"` // set for a single partition
	Keys   *struct {
		Start string `json:"start"`
		End   string `json:"end"`
	} `json:"partition_key_range"`
	Window *timeWindow `json:"partition_time_window"`
	Extras struct {
		Checks []string `json:"reportferry_checks"` // the checks that the asset declares
		// Window is that of a backfill in one run, which Dagster's own context doesn't have.
		Window *timeWindow `json:"reportferry_window"`
	} `json:"extras"`
}

// A timeWindow is a range of times in RFC 3339.
type timeWindow struct {
	Start string `json:"start"`
	End   string `json:"end"` // exclusive
}

// OpenDagster reads the step that the environment names. stdout and stderr are where messages go
// when the step reads them there.
func OpenDagster(lookup func(string) (string, bool), stdout, stderr io.Writer) (*DagsterPipes, error) {
	variable, set := lookup(DagsterVariable)
	if !set {
		return nil, nil
	}
	p := &DagsterPipes{}
	// The context, which is in the variable itself or in a file.
	var at struct {
		Path string       `json:"path"`
		Data *dagsterStep `json:"data"`
	}
	if err := unpack(variable, &at); err != nil {
		return nil, text.UsageError(fmt.Errorf("%s: %w", DagsterVariable, err))
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
			return nil, text.UsageError(fmt.Errorf("%s: %w", DagsterVariable, err))
		}
	default:
		return nil, text.UsageError(fmt.Errorf("%s: want a path or data; other ways to pass the context aren't known "+
			"here", DagsterVariable))
	}
	// Where the messages go.
	variable, _ = lookup(dagsterMessages)
	var way struct {
		Path     string `json:"path"`
		Stdio    string `json:"stdio"`
		Buffered string `json:"buffered_stdio"`
	}
	if err := unpack(variable, &way); err != nil {
		return nil, text.UsageError(fmt.Errorf("%s: %w", dagsterMessages, err))
	}
	p.file = way.Path
	switch way.Stdio + way.Buffered {
	case "stdout":
		p.writer = stdout
	case "stderr":
		p.writer = stderr
	default:
		if p.file == "" {
			return nil, text.UsageError(fmt.Errorf("%s: want a path, or stdout or stderr; messages to object stores "+
				"aren't known here", dagsterMessages))
		}
	}
	return p, nil
}

// unpack decodes a text that is JSON, compressed by zlib and encoded in base64.
func unpack(text string, into any) error {
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
func (p *DagsterPipes) Range() (first, last string, asked bool, err error) {
	if p == nil {
		return "", "", false, nil
	}
	s := p.step
	switch w := cmp.Or(s.Extras.Window, s.Window); {
	case w != nil:
		first, err = dayOf(w.Start, 0)
		if err == nil {
			last, err = dayOf(w.End, -time.Nanosecond)
		}
	case s.Keys != nil:
		first, err = dayOfKey(s.Keys.Start)
		if err == nil {
			last, err = dayOfKey(s.Keys.End)
		}
	case s.Key != "":
		first, err = dayOfKey(s.Key)
		last = first
	default:
		return "", "", false, nil
	}
	if err != nil {
		return "", "", false, text.UsageError(fmt.Errorf("the partition of Dagster's step: %w", err))
	}
	return first, last, true, nil
}

// dayOf returns the date of a moment plus shift, in the moment's own zone, which is that of the
// asset's partitions.
func dayOf(text string, shift time.Duration) (string, error) {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return "", err
	}
	return civil.DateOf(at.Add(shift)).String(), nil
}

// dayOfKey returns the day that a partition key begins with, such as 2026-01-31 or
// 2026-01-31-13:00.
func dayOfKey(key string) (string, error) {
	if strings.Contains(key, "|") {
		return "", fmt.Errorf("%q has several dimensions; partition the asset by time alone", key)
	}
	d, err := civil.ParseDate(key[:min(len(key), len(time.DateOnly))])
	if err != nil {
		return "", errors.New("\"" + key + "\" doesn't begin with a date such as 2026-01-31")
	}
	return d.String(), nil
}
