package apps

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Change is one field that differs from its declaration, or whose value the service doesn't show.
type Change struct {
	Path     string `json:"field"` // such as channel_setup.facebook.app_id
	Have     string `json:"have"`  // as JSON, cleaned of credentials
	Want     string `json:"want"`  // as Have
	sentBy   request
	migrates bool   // takes effect only by a migration
	sum      string // a checksum of both values, by which the ledger records a difference that stays
}

// A request is the kind of request that sends a change.
type request int

// The kinds of requests: the one for the app, which starts a migration, and those that follow it.
const (
	byApp request = iota
	byEvents
	bySignature
)

// notShownByService stands for a present value that the service doesn't show.
const notShownByService = "(not shown by the service)"

// A comparison collects what differs between a declared app and the service.
type comparison struct {
	salt    string  // of checksums
	sentBy  request // sentBy and migrate hold for the changes that are noted next
	migrate bool
	changes []Change
}

// note adds a change. haveShown says that the service shows the present value. If hidden is true,
// note keeps only that the values differ, and not the values.
func (c *comparison) note(path []string, have, want any, haveShown, hidden bool) {
	one := Change{Path: pathText(path), sentBy: c.sentBy, migrates: c.migrate, sum: c.sum(have, want)}
	one.Have, one.Want = shown(have, path...), shown(want, path...)
	if hidden {
		one.Have, one.Want = hiddenText(have), hiddenText(want)
	}
	if !haveShown {
		one.Have = notShownByService
	}
	c.changes = append(c.changes, one)
}

// hiddenText returns what is shown in place of a hidden value.
func hiddenText(v any) string {
	if v == nil {
		return "(none)"
	}
	return notShown
}

// sum is a checksum of values that may be secrets. It is salted for each app and is kept in the
// ledger alone.
func (c *comparison) sum(values ...any) string {
	data, err := json.Marshal(canonical(values))
	if err != nil {
		panic("apps: canonical values are plain data: " + err.Error())
	}
	sum := sha256.Sum256(append([]byte(c.salt), data...))
	return hex.EncodeToString(sum[:16])
}

// pathText writes a path with dots, and without a dot before a list item's [name].
func pathText(path []string) string { return strings.ReplaceAll(strings.Join(path, "."), ".[", "[") }

// value compares a value that the service shows with the declared one. have is nil if the service
// shows that there is none.
func (c *comparison) value(have, want any, path ...string) {
	c.walk(canonical(have), want, path, false)
}

// unshown notes a value that the service never shows. The app's record says whether it was sent
// before.
func (c *comparison) unshown(want any, path ...string) {
	_, secret := want.(Secret)
	c.note(path, nil, want, false, secret || hides(path))
}

// walk compares two values. It goes down as long as both are mappings, or lists of items with
// names, and notes what differs below.
func (c *comparison) walk(have, want any, path []string, hidden bool) {
	_, secret := want.(Secret)
	hidden = hidden || secret || hides(path)
	if equal(have, canonical(want)) {
		return
	}
	haveMap, isMap := mapOf(have)
	wantMap, wantIsMap := mapOf(want)
	if !isMap && !wantIsMap || !isMap && have != nil || !wantIsMap && want != nil {
		c.note(path, have, want, true, hidden || len(secrets(want)) > 0)
		return
	}
	if len(haveMap)+len(wantMap) == 0 { // nothing on one side, an empty mapping on the other
		return
	}
	for _, key := range keys(haveMap, wantMap) {
		if h, w := haveMap[key], wantMap[key]; w != nil || !isDefault(append(slices.Clone(path), key), h) {
			c.walk(h, w, append(slices.Clone(path), key), hidden)
		}
	}
}

// keys returns the keys of all maps, sorted.
func keys(maps_ ...map[string]any) []string {
	all := map[string]bool{}
	for _, m := range maps_ {
		for k := range m {
			all[k] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// mapOf returns v if it is a mapping. It returns a list of items with different names as a mapping
// by these names.
func mapOf(v any) (map[string]any, bool) {
	switch v := v.(type) {
	case map[string]any:
		return v, true
	case []any:
		m := map[string]any{}
		for _, item := range v {
			id := idOf(item)
			if id == "" || m["["+id+"]"] != nil {
				return nil, false
			}
			m["["+id+"]"] = item
		}
		return m, len(v) > 0
	}
	return nil, false
}

// String writes the change on one line.
func (c Change) String() string { return fmt.Sprintf("%s: %s -> %s", c.Path, c.Have, c.Want) }
