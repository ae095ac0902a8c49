package config

import (
	"fmt"
	"io"
	"os"

	"github.com/goccy/go-yaml/ast"
	"github.com/invopop/jsonschema"
)

// An App is one declared app. What isn't declared is left as it is in the service.
type App struct {
	Name, BundleID, StoreID string
	Platform                string // android or ios
	Template                string // token of the app to copy from; empty: the account's own template
	Line                    int    // of the entry in the file

	Sections  []string                  // to migrate; none: all
	Setup     map[string]map[string]any // channel_setup by partner and parameter: string, bool, Reference or []any; nil: not declared
	Overrides map[string]any            // override_settings by section: map[string]any, []any, string, bool, int64, uint64, float64, nil, Reference
	Stores    map[string]string         // additional Android stores: store type -> store ID
	Events    []AppEvent
	Signature *AppSignature
	Editors   []string // e-mail addresses
	IOSSecret Reference
	Verify    bool
}

// An AppEvent is an event that an app must have.
type AppEvent struct {
	Name   string
	Unique bool
}

// AppSignature is what of an app's SDK signature settings is declared.
type AppSignature struct {
	Enforce      *bool    // nil: not declared
	Fingerprints []string // of Android certificates, SHA-1; nil: not declared
}

// A Reference stands for a value that is kept elsewhere: ${NAME} of an environment variable, or ${file:/path}.
type Reference string

const (
	fileLimit  = 4 << 20  // bytes of a file of apps: 200 apps have about 100 kB
	valueLimit = 64 << 10 // bytes of one value
)

// LoadApps reads and checks a file of apps. Its errors are those of ParseApps.
func LoadApps(path string) ([]App, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read apps: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(f, fileLimit+1))
	if err != nil {
		return nil, fmt.Errorf("read apps: %w", err)
	}
	return ParseApps(path, data)
}

// ParseApps checks the content of a file of apps; name is what errors call it. The error joins one *Error for each mistake.
func ParseApps(name string, data []byte) ([]App, error) {
	d := &decoder{file: name}
	var apps []App
	if len(data) > fileLimit {
		d.failAt(nil, "the file has more than %d bytes, the most that a file of apps may have", fileLimit)
	} else if body := d.document(data, "config/apps.yaml"); body != nil && d.allShort(body) {
		d.object(body, appsFileObject(&apps))
	}
	return apps, d.mistakes()
}

// allShort refuses values that nothing needs, before any message can repeat one.
func (d *decoder) allShort(body ast.Node) bool {
	short := true
	for _, n := range ast.Filter(ast.StringType, body) {
		short = d.short(n, n.(*ast.StringNode).Value) && short
	}
	for _, n := range ast.Filter(ast.LiteralType, body) {
		short = d.short(n, n.(*ast.LiteralNode).Value.Value) && short
	}
	return short
}

func (d *decoder) short(n ast.Node, s string) bool {
	if len(s) > valueLimit {
		d.fail(n, "a value of %d bytes; the most is %d", len(s), valueLimit)
	}
	return len(s) <= valueLimit
}

func appsFileObject(apps *[]App) object {
	return object{what: "the file", fields: []field{
		required("apps", appList, apps, "The account's apps, each once for its store ID and platform."),
	}}
}

var appList = shape[[]App]{
	func(d *decoder, n ast.Node, key string) ([]App, bool) {
		var apps []App
		lines := map[[2]string]int{}
		for _, element := range d.elements(n, key) {
			var a App
			if p := position(element); p != nil {
				a.Line = p.Line
			}
			at := d.object(element, appObject(&a))
			id := [2]string{a.Platform, a.StoreID}
			if line, taken := lines[id]; taken && a.Platform != "" && a.StoreID != "" {
				d.fail(at["store_id"], "the %s app %s already stands on line %d", a.Platform, a.StoreID, line)
			}
			lines[id] = a.Line
			apps = append(apps, a)
		}
		return apps, len(apps) > 0
	},
	func() *jsonschema.Schema { return arrayOf(appObject(new(App)).schema()) },
}
