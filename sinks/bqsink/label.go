package bqsink

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// maxLabel is the longest key or value of a label (https://cloud.google.com/bigquery/docs/labels-intro#requirements).
const maxLabel = 63

// labelText makes a label's key or value of any text: lower case, digits, _ and -, cut. What is lost in that is made up
// by a digest of the text, so that two texts never become one.
func labelText(text string) string {
	made := lower(text)
	if made == text && len(made) <= maxLabel {
		return made
	}
	digest := fmt.Sprintf("-%x", sha256.Sum256([]byte(text)))[:9]
	return made[:min(len(made), maxLabel-len(digest))] + digest
}

// tableLabels makes a table's labels of those in the config: lower-cased and cut, which is what a reader expects of
// labels that he wrote. A key must begin with a letter.
func tableLabels(labels map[string]string) (map[string]string, error) {
	made := map[string]string{}
	from := map[string]string{}
	for name, value := range labels {
		key := plainLabel(name)
		if key == "" || key[0] < 'a' || key[0] > 'z' {
			return nil, fmt.Errorf("label %q: a key must begin with a letter", name)
		}
		if other, taken := from[key]; taken {
			return nil, fmt.Errorf("labels %q and %q are the same to BigQuery, %s", min(name, other), max(name, other), key)
		}
		from[key], made[key] = name, plainLabel(value)
	}
	return made, nil
}

func plainLabel(text string) string {
	made := lower(text)
	return made[:min(len(made), maxLabel)]
}

// lower leaves only what a label may hold.
func lower(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, strings.ToLower(text))
}
