package adjust

import (
	"regexp"
	"strings"
)

// The service's words about a metric or dimension that it doesn't have, an app that isn't there, and a metric whose event
// is gone. They are in no document: all were seen by authors of other clients.
var (
	unsupportedMetric = regexp.MustCompile(`(?i)\bunsupported metrics?\b\W*(\w.*)`)
	unsupportedOther  = regexp.MustCompile(`(?i)\bunsupported (?:dimension|filter|attribute)s?\b|\bno apps? matching\b`)
	lostEvent         = regexp.MustCompile(`(?i)(.*?)\W*\b(?:the |this )?(?:event )?doesn['’]t exist or was renamed`)
)

// refusedQuery tells whether a 400 is about something that is the same whatever days are asked for.
func refusedQuery(message string) bool {
	return unsupportedMetric.MatchString(message) || lostEvent.MatchString(message) || unsupportedOther.MatchString(message)
}

// refusedMetric is the metric that a 400 is about, one of those asked for if possible; empty when it is about something
// else.
func refusedMetric(message string, asked []string) string {
	if m := unsupportedMetric.FindStringSubmatch(message); m != nil {
		word, _, _ := strings.Cut(m[1], " ")
		return named(m[1], word, asked)
	}
	if m := lostEvent.FindStringSubmatch(message); m != nil {
		return named(m[1], m[1][strings.LastIndex(m[1], " ")+1:], asked)
	}
	return ""
}

// named finds the metric in the text: the one asked for that is named first, else one of the event that the word is the
// slug of, else the word itself.
func named(text, word string, asked []string) string {
	first, at := "", len(text)
	for _, slug := range asked {
		where := regexp.MustCompile(`(?:^|\W)` + regexp.QuoteMeta(slug) + `(?:\W|$)`).FindStringIndex(text)
		if where != nil && (where[0] < at || where[0] == at && len(slug) > len(first)) {
			first, at = slug, where[0]
		}
	}
	if first != "" {
		return first
	}
	word = strings.Trim(word, "\"'`.,;:()[]{}")
	for _, slug := range asked {
		if word != "" && strings.HasPrefix(slug, word+"_") {
			return slug
		}
	}
	return word
}
