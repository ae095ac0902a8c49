// Package rooted makes paths absolute that are relative to a config's root. Without it a command
// that is started in another folder would look for the ledger there, find none, and begin a second
// one.
//
// In a folder's URL a dot separates the root from what was written, as in rsync's --relative:
// file://./out below /etc/reportferry becomes file:///etc/reportferry/./out. So receipts go on
// saying file://./out, and a folder may move together with its ledger.
package rooted

import (
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// mark stands between the root and what was written in a path that was relative.
const mark = "/./"

// files are parameters of URLs that name files, by scheme.
var files = map[string][]string{
	"file": {"secret_key_path"}, "gs": {"private_key_path"}, "postgres": {"sslrootcert", "sslcert", "sslkey"},
	"iceberg": {"gcs.keypath"},
}

// URL makes all paths in a sink's or a bucket's URL absolute: that of a folder, and those that
// parameters name. A URL without a relative path stays as it is.
func URL(root, rawURL string) string {
	scheme, rest, found := strings.Cut(rawURL, "://")
	at, query, asked := strings.Cut(rest, "?")
	if !found {
		return rawURL
	}
	if scheme == "file" {
		at = folder(root, at)
	}
	if !asked {
		return scheme + "://" + at
	}
	list := strings.Split(query, "&")
	for i, parameter := range list {
		name, text, _ := strings.Cut(parameter, "=")
		value, err := url.QueryUnescape(text)
		if is := located(root, scheme, name, value); err == nil && is != value {
			list[i] = name + "=" + url.QueryEscape(is)
		}
	}
	return scheme + "://" + at + "?" + strings.Join(list, "&")
}

// folder returns what follows file:// in the URL of a folder, with the path made absolute.
func folder(root, at string) string {
	first, below, _ := strings.Cut(at, "/")
	switch first {
	case ".":
		at = below
	case "..":
	default:
		return strings.ReplaceAll(at, mark, "/")
	}
	return (&url.URL{Path: filepath.ToSlash(root)}).EscapedPath() + mark + at
}

// located returns the value of a parameter, with the path in it made absolute if it has one.
func located(root, scheme, name, value string) string {
	switch {
	case scheme == "iceberg" && name == "warehouse":
		if local, is := strings.CutPrefix(value, "file://"); is && !path.IsAbs(local) {
			return "file://" + filepath.ToSlash(filepath.Join(root, local))
		}
	case scheme == "iceberg" && name == "uri":
		driver, local, is := strings.Cut(value, ":///")
		if is && strings.HasPrefix(driver, "sqlite") && local != "" && !path.IsAbs(local) {
			return driver + ":///" + filepath.ToSlash(root) + mark + local
		}
	case slices.Contains(files[scheme], name) && value != "" && value != "system": // the system's certificates
		return File(root, value)
	}
	return value
}

// File returns the absolute path of a file or a folder; an empty name stays empty.
func File(root, name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(root, name)
}

// Reference makes the path in a reference ${file:...} absolute. Another text stays as it is.
func Reference(root, text string) string {
	name, is := strings.CutPrefix(text, "${file:")
	if !is {
		return text
	}
	return "${file:" + File(root, name)
}
