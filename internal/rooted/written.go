package rooted

import (
	"net/url"
	"path"
	"strings"
)

// Written returns a URL as it was written in the config, before function URL made it absolute.
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

// Cut returns what was written of a path that was relative; false: it was absolute.
func Cut(place string) (string, bool) {
	_, rel, is := strings.Cut(place, mark)
	return rel, is
}

// Folder returns the folder of a URL for people, without its parameters, or "" if the URL isn't
// that of a folder.
func Folder(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme != "file" {
		return ""
	}
	return path.Clean(u.Host + u.Path)
}
