// Package apps reads the file that declares an account's apps. Without it, a wrong platform, a
// partner's misspelt parameter or a secret in clear would reach the service's app automation, and
// would be noticed there or never.
//
// The file is a list of apps, each with the settings that it must have. What an app doesn't declare
// is left as it is in the service. Secrets are never in the file: a [Reference] says where each one
// is kept.
//
//	apps.yaml ── Load ──> []App ──> jobs of kind apps, which compare them with the service's own
//	    └────── Schema ─> JSON Schema, for editors
package apps

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/config/strict"
)

// An App is one declared app.
type App struct {
	Name, BundleID, StoreID string
	Platform                string // android or ios
	Token                   string // of an app that is in the account; it takes the place of platform and store ID
	Template                string // token of the app to copy from; empty: the account's own template
	Line                    int    // the entry's line in the file

	Sections []string // the template's sections to copy; none: all
	// channel_setup by partner and parameter: string, bool, Reference or []any; nil: not declared.
	Setup map[string]map[string]any
	// override_settings by section: map[string]any, []any, string, bool, int64, uint64, float64,
	// nil, Reference.
	Overrides map[string]any
	Stores    map[string]string // additional Android stores: store type -> store ID
	Events    []Event
	Signature *Signature
	Editors   []string  // e-mail addresses
	IOSSecret Reference // shared secret of iOS purchase verification
	Verify    bool      // whether the verification of an iOS app is asked for
}

// An Event is an event that an app must have.
type Event struct {
	Name   string
	Unique bool // counted once a user
}

// A Signature holds the declared SDK signature settings of an app.
type Signature struct {
	Enforce      *bool    // nil: not declared
	Fingerprints []string // of Android certificates, SHA-1; nil: not declared
}

// A Reference stands for a value that is kept elsewhere: ${NAME} of an environment variable, or
// ${file:/path}.
type Reference string

const (
	mostFile  = 4 << 20  // bytes of the file: 200 apps have about 100 kB
	mostValue = 64 << 10 // bytes of one value
)

// Load reads and checks the file at path. Its errors are those of Parse.
func Load(path string) ([]App, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read apps: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(f, mostFile+1))
	if err != nil {
		return nil, fmt.Errorf("read apps: %w", err)
	}
	return Parse(path, data)
}

// Parse checks the content of a file; name is what errors call it. The error joins one
// *strict.Error for each mistake.
func Parse(name string, data []byte) ([]App, error) {
	var apps []App
	_, err := strict.Read(data, fileObject(&apps), strict.Options{
		File: name, Example: "config/apps/example.yaml", MaxFile: mostFile, MaxValue: mostValue,
	})
	return apps, err
}

// Schema returns the JSON Schema (draft 2020-12) of the file. It allows every file that Parse
// takes.
func Schema() ([]byte, error) {
	s := fileObject(new([]App)).Schema()
	s.Version = jsonschema.Version
	s.Title = "reportferry apps"
	s.Description = "The apps that a job of kind apps keeps as they are declared here."
	out := &bytes.Buffer{}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	if err := e.Encode(s); err != nil {
		return nil, fmt.Errorf("write the schema of apps: %w", err)
	}
	return out.Bytes(), nil
}

// fileObject describes the whole file, which fills apps.
func fileObject(apps *[]App) strict.Object {
	return strict.Object{What: "the file", Fields: []strict.Field{
		strict.Required("apps", list(), apps, "",
			"The account's apps, each once for its platform and store ID, or for its token."),
	}}
}

// list returns the shape of a list of apps, no two with the same platform and store ID, or with the
// same token.
func list() strict.Shape[[]App] {
	lines := map[[2]string]int{}
	shape := strict.ListOf(appObject, func(d *strict.Decoder, n strict.Node, at map[string]strict.Node, a *App) {
		a.Line = strict.Line(n)
		id := [2]string{a.Platform, a.StoreID}
		if a.Token != "" {
			id = [2]string{"token", a.Token}
			if line, taken := lines[id]; taken {
				d.Fail(at["token"], "the app %s already stands on line %d", a.Token, line)
			}
			lines[id] = a.Line
			return
		}
		if line, taken := lines[id]; taken && a.Platform != "" && a.StoreID != "" {
			d.Fail(at["store_id"], "the %s app %s already stands on line %d", a.Platform, a.StoreID, line)
		}
		lines[id] = a.Line
	})
	plain := shape.Schema
	shape.Schema = func() *jsonschema.Schema { // it also says which keys name an app
		s := plain()
		s.Items.OneOf = []*jsonschema.Schema{
			{Required: []string{"token"},
				Not: &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Required: []string{"store_id"}},
					{Required: []string{"platform"}}}}},
			{Required: identity, Not: &jsonschema.Schema{Required: []string{"token"}}},
		}
		return s
	}
	return shape
}
