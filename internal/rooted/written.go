package rooted

import (
	"net/url"
	"path"
	"strings"
)

// Written is a URL as it was written.
func Written(rawURL string) string {
	at, query, asked := strings.Cut(rawURL, "?")
	if at, is := Cut(at); is && strings.HasPrefix(rawURL, "file:///") {
		if rawURL = "file://./" + at; at == ".." || strings.HasPrefix(at, "../") {
			rawURL = "file://" + at
		}
		if asked {
			rawURL += "?" + query
		}
	}
	return rawURL
}

// Cut gives what was written in a place that was relative; false: it was absolute.
func Cut(place string) (string, bool) {
	_, rel, is := strings.Cut(place, mark)
	return rel, is
}

// Folder is the folder of a URL for people, without its parameters; empty: it isn't the URL of a
// folder.
func Folder(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme != "file" {
		return ""
	}
	return path.Clean(u.Host + u.Path)
}
