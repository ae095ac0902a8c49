package bqsink

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"cloud.google.com/go/bigquery"
)

// Keys of the labels that every job of this package carries. labelText makes the values.
const (
	ownLabel       = "reportferry" // the dataset, as project-dataset
	tableLabel     = "table"
	partitionLabel = "partition"
	runLabel       = "run"
	hashLabel      = "hash" // of the content
	// putLabel has a random value for each call of Put. It tells our own job, whose answer was
	// lost, from another's.
	putLabel = "put"
	// usedLabel is on a job that does nothing but use up an ID (see useUp). Its value is the lease
	// for which it does that.
	usedLabel = "used"
)

// labelsOf returns the labels of a load or query job of this package, and nil for any other job.
func labelsOf(job *bigquery.Job) map[string]string {
	if !strings.HasPrefix(job.ID(), jobPrefix) {
		return nil // another program's job, which the client may not understand
	}
	config, err := job.Config()
	if err != nil {
		return nil
	}
	switch c := config.(type) {
	case *bigquery.LoadConfig:
		return c.Labels
	case *bigquery.QueryConfig:
		return c.Labels
	}
	return nil
}

// maxLabel is the longest key or value of a label
// (https://cloud.google.com/bigquery/docs/labels-intro#requirements).
const maxLabel = 63

// labelText makes a label's value, or a piece of a job ID, of any text. Characters that a label
// can't have become _, and a long text is cut; then a digest of the text is added, so that two
// texts never become the same label.
func labelText(text string) string {
	made := lower(text)
	if made == text && len(made) <= maxLabel {
		return made
	}
	digest := fmt.Sprintf("-%x", sha256.Sum256([]byte(text)))[:9]
	return made[:min(len(made), maxLabel-len(digest))] + digest
}

// tableLabels makes a table's labels of those in the config. They are lower-cased and cut but get
// no digest, so that whoever wrote them finds them again. A key must begin with a letter, and two
// keys that become the same are an error.
func tableLabels(labels map[string]string) (map[string]string, error) {
	made := map[string]string{}
	from := map[string]string{}
	for name, value := range labels {
		key := plainLabel(name)
		if key == "" || key[0] < 'a' || key[0] > 'z' {
			return nil, fmt.Errorf("label %q: a key must begin with a letter", name)
		}
		if other, taken := from[key]; taken {
			return nil, fmt.Errorf("labels %q and %q are the same to BigQuery, %s", min(name, other), max(name, other),
				key)
		}
		from[key], made[key] = name, plainLabel(value)
	}
	return made, nil
}

// plainLabel makes a key or value of a table's label of a text. It is lower-cased and cut.
func plainLabel(text string) string {
	made := lower(text)
	return made[:min(len(made), maxLabel)]
}

// lower writes a text in lower case and replaces every character that a label can't have by _.
func lower(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, strings.ToLower(text))
}
