// Package config reads the YAML file that says what to ferry where. Without it, a slip of the pen would be found at
// night by a failed run, or never: every key, name and value is checked here, with its place in the file, before any call.
package config

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// Config is the file. Defaults are filled in, and every rule that can be checked without the service holds.
type Config struct {
	Service  Service
	Ledger   string        // bucket URL of the ledger
	Audit    string        // sink URL of the tables of what runs did; empty: none
	SpoolDir string        // directory of the spool files; empty: the system's directory for temporary files
	Lease    time.Duration // how long a claim holds without a sign of life
	Jobs     []Job
	Warnings []*Error // what is allowed and yet likely a slip, in the order of the file; a file with warnings is good
}

// Service says where the service is and how gently to ask it.
type Service struct {
	Embedded  bool          // `service: embedded`: the emulator in this process; the addresses and the token are empty
	BaseURL   string        // automation and reporting host
	S2SURL    string        // third-party sharing host; may be empty
	CostURL   string        // ad spend host; may be empty
	AccountID string        // sent as X-Account-ID; may be empty
	Token     string        // a reference, never a token: ${ENV}, ${file:/path} or a runtimevar URL
	Rate      float64       // requests a second
	InFlight  int           // requests at a time; 0: as many as the rate needs
	Attempts  int           // tries of one request
	Patience  time.Duration // time for all tries of one request
	Spend     Login         // at CostURL
	Sharing   Login         // at S2SURL; no token: none is sent
}

// Login is a credential at another host than that of reports. The service's document doesn't say how it is sent.
type Login struct {
	Token  string // a reference, as of Service
	Header string // that carries it; Authorization: as a Bearer token, any other: alone
}

// Job is one entry under jobs. The parameters of its kind are in the field of that kind.
type Job struct {
	Name     string
	Kind     string
	Schedule string   // cron, five fields or a descriptor such as @hourly; empty: the job runs only when asked for
	Zone     string   // IANA zone of the schedule; with Report.TimezoneID also of the report's days
	Table    string   // unique in the file
	Sinks    []string // URLs; none of kind spend
	Line     int      // of the entry in the file

	Warehouse Warehouse // of its sinks that keep tables

	Report *Report // kind report, else nil
	Events *Events // kind events, else nil
	Spend  *Spend  // kind spend, else nil

	Sharing *Sharing // kind sharing, else nil
	Apps    *AppsJob // kind apps, else nil
}

// Events is what a job of kind events asks the service for: the events of the account, as they are on the run's date.
type Events struct {
	Apps   []string // app tokens; none: every app of the account
	Search string   // part of a name, or a whole slug; empty: every event
	Codec  string   // zstd, snappy or none
}

// Load reads and checks the file at path. Its errors are those of Parse.
func Load(path string, env Env) (*Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read config: %w", err)
	}
	return Parse(path, data, env)
}

// Parse checks the content of a file; name is what errors call it. ${NAME} in a text is filled in from env; tokens stay
// references, which are looked up when they are needed. All mistakes of the file are found at once: the
// error joins one *Error each, in the order of the file.
func Parse(name string, data []byte, env Env) (*Config, error) {
	d := &decoder{file: name, env: env}
	c := d.parse(data)
	if err := d.mistakes(); err != nil {
		return nil, err
	}
	c.Warnings = inOrder(d.warned)
	return c, nil
}

// mistakes joins what is wrong with the file, in its order; nil: nothing.
func (d *decoder) mistakes() error {
	d.errs = inOrder(d.errs)
	errs := make([]error, len(d.errs))
	for i, e := range d.errs {
		errs[i] = e
	}
	return errors.Join(errs...)
}

// inOrder sorts by place and drops what was noted twice.
func inOrder(errs []*Error) []*Error {
	slices.SortStableFunc(errs, compareErrors)
	return slices.CompactFunc(errs, func(a, b *Error) bool { return *a == *b })
}

// Error is one mistake, or one warning, and its place. Line and Col count from 1; Col counts characters, not bytes.
type Error struct {
	File      string
	Line, Col int
	Msg       string
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Msg) }

func compareErrors(a, b *Error) int {
	if a.Line != b.Line {
		return a.Line - b.Line
	}
	if a.Col != b.Col {
		return a.Col - b.Col
	}
	return strings.Compare(a.Msg, b.Msg)
}
