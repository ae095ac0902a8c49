package config

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/invopop/jsonschema"
)

// Push is what every kind that sends files record by record is told.
type Push struct {
	Source     string        // URL of files; {date} is a day, * any characters but a slash
	Rejects    string        // bucket URL of the files with refused rows
	MaxRejects MaxRejects    // of a file, before nothing of it is sent
	OnUnknown  string        // a record whose answer was lost: resend, or park for a person
	WindowDays int           // files of so many days back are looked at
	Quiet      time.Duration // a file that changed more recently waits; 0: none does
	Rate       float64       // records a second
	InFlight   int           // records at a time
}

var pushDefaults = Push{OnUnknown: "resend", MaxRejects: MaxRejects{Share: 0.5}, WindowDays: 7, Quiet: usualQuiet, Rate: 10, InFlight: 8}

// keys are those that fill p. doubt ends what on_unknown is about.
func (p *Push) keys(doubt string) []field {
	return []field{
		required("source", pushSource, &p.Source, "URL of the files: {date} stands for a day such as 2026-01-31, * for any characters but a slash. "+
			"CSV, JSON Lines or Parquet, plain or under gzip or zstd."),
		required("rejects", bucketURL, &p.Rejects, "Bucket for files with the rows that were refused, and why."),
		optional("max_rejects", maxRejects, &p.MaxRejects, "How much of a file may be refused, as a number of rows or a share such as 5%, before nothing of it is sent; 50% by default."),
		optional("on_unknown", oneOf("resend", "park"), &p.OnUnknown, "A record that may have been taken, "+doubt),
		optional("window_days", whole(1, 30), &p.WindowDays, "Days back from today whose files are looked at."),
		optional("wait_until_quiet", quietTime, &p.Quiet, "How long a file must not have changed, such as 30s, before a run takes it, because it may still be growing: "+
			"5m by default, and for true; 0, or false, takes each at once."),
		optional("rate", rate, &p.Rate, "Records a second."),
		optional("in_flight", whole(1, 1000), &p.InFlight, "Records at a time."),
	}
}

// usualQuiet is more than whoever writes a file in several goes takes between two of them.
const usualQuiet = 5 * time.Minute

// quietTime is a length of time, or 0; true and false are what they were when there was no other choice.
var quietTime = shape[time.Duration]{
	func(d *decoder, n ast.Node, key string) (time.Duration, bool) {
		switch v := d.resolve(n).(type) {
		case *ast.BoolNode:
			if v.Value {
				return usualQuiet, true
			}
			return 0, true
		case *ast.IntegerNode:
			if v.Value != uint64(0) {
				d.fail(n, "%s: %v of what? want a length of time such as 30s, or 0", key, v.Value)
			}
			return 0, v.Value == uint64(0)
		}
		return duration(0).read(d, n, key)
	},
	func() *jsonschema.Schema {
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
			{Type: "boolean"}, {Type: "integer", Minimum: json.Number("0"), Maximum: json.Number("0")}, duration(0).schema(),
		}}
	},
}

// MaxRejects is how much of a file may be refused: a share of its rows when Share is above 0, else a number of them.
type MaxRejects struct {
	Count int
	Share float64 // 0.05 is 5 %
}

var sourceWords = expr(`[{}]|\*\*`)

// pushSource is the URL of files. Messages don't repeat it: its query may hold a secret.
var pushSource = checked(bucketURL, func(d *decoder, n ast.Node, key, s string) bool {
	path, _, _ := strings.Cut(s, "?")
	_, rest, _ := strings.Cut(path, "://")
	bucket, file, _ := strings.Cut(rest, "/")
	switch {
	case file == "" || strings.HasSuffix(file, "/"):
		d.fail(n, "%s: this is a folder or a bucket; name its files, such as gs://bucket/in/{date}/*.csv", key)
	case strings.ContainsAny(bucket, "{}*"):
		d.fail(n, "%s: the bucket itself can't vary", key)
	case sourceWords.MatchString(strings.ReplaceAll(file, "{date}", "")):
		d.fail(n, "%s: want {date} for a day and * for any characters but a slash; no other braces, and no **", key)
	default:
		return true
	}
	return false
})

var sharePattern = expr(`^[0-9]{1,3}(\.[0-9]+)?%$`)

// maxRejects is a number of rows, or a share with a percent sign.
var maxRejects = shape[MaxRejects]{
	func(d *decoder, n ast.Node, key string) (MaxRejects, bool) {
		if s, ok := d.textOf(n); ok {
			share, err := strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64)
			if sharePattern.MatchString(s) && err == nil && share > 0 && share <= 100 {
				return MaxRejects{Share: share / 100}, true
			}
			d.fail(n, "%s: %q is neither a number of rows nor a share above 0%% and up to 100%%, such as 5%%", key, s)
			return MaxRejects{}, false
		}
		count, ok := d.whole(n, key, 0, 1_000_000_000)
		return MaxRejects{Count: count}, ok
	},
	func() *jsonschema.Schema {
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
			{Type: "integer", Minimum: json.Number("0"), Maximum: json.Number("1000000000")},
			{Type: "string", Pattern: sharePattern.String()},
		}}
	},
}
