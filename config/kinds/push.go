package kinds

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/config/shape"
	"github.com/reportferry/reportferry/config/strict"
)

// Push has the settings of every kind that sends files record by record.
type Push struct {
	Source     string        // URL of files; {date} is a day, * any characters but a slash
	Rejects    string        // bucket URL of the files with refused rows
	MaxRejects MaxRejects    // how much of a file may be refused before nothing of it is sent
	OnUnknown  string        // what happens to a record whose answer was lost: resend, or park for a person
	WindowDays int           // how many days back files are looked for
	First      bool          // files older than a day are sent although the job has no push on record
	Quiet      time.Duration // a file that changed less than this ago waits for a later run; 0: none does
	Rate       float64       // records a second
	InFlight   int           // records at a time

	// Field -> column of the files; a field that is in neither map has the column of its own name,
	// where there is one.
	Columns   map[string]string
	Constants map[string]string // field -> its value in every record
}

// MaxRejects is how much of a file may be refused: a share of its rows when Share is above 0, else
// a number of them.
type MaxRejects struct {
	Count int
	Share Share
}

// A Share is a part of a whole: 0.05 is 5 %.
type Share float64

// String returns the share in percent, as the file has it.
func (s Share) String() string { return strconv.FormatFloat(float64(s)*100, 'g', 12, 64) + "%" }

// String returns the value as the file has it.
func (m MaxRejects) String() string {
	if m.Share > 0 {
		return m.Share.String()
	}
	return strconv.Itoa(m.Count)
}

// usualQuiet is longer than the pauses of a writer that writes a file in several steps.
const usualQuiet = 5 * time.Minute

var pushDefaults = Push{OnUnknown: "resend", MaxRejects: MaxRejects{Share: 0.5}, WindowDays: 7, Quiet: usualQuiet,
	Rate: 10, InFlight: 8}

// A record describes what a kind sends for each row of a file, as far as keys and messages need it.
type record struct {
	fields   []recordField
	own      []string // fields that have a value of their own in each record
	constant string   // an example of the key constants
	column   string   // an example of the key columns
	resend   string   // what the values of on_unknown do

	// checkConstants checks the values under constants; at has their places in the file.
	checkConstants func(d *strict.Decoder, constants map[string]string, at map[string]strict.Node)
}

// keys returns the keys that fill p.
func (p *Push) keys(r record) []strict.Field {
	constants := func(d *strict.Decoder, f map[string]string, at map[string]strict.Node) {
		for _, name := range r.own {
			if at[name] != nil {
				d.Fail(at[name], "constants: %s can't be constant, because each record has its own", name)
			}
		}
		r.checkConstants(d, f, at)
	}
	return []strict.Field{
		shape.Mandatory(shape.Place("source", source, &p.Source, "gs://my-bucket/in/{date}/*.csv",
			"URL of the files. {date} stands for a day such as 2026-01-31, and * for any characters but a slash. "+
				"The files are CSV, JSON Lines, a JSON array, Parquet or XLSX, plain, compressed by gzip or zstd, or "+
				"alone in a ZIP archive.")),
		shape.Mandatory(shape.Place("rejects", shape.BucketURL, &p.Rejects, "gs://my-bucket/rejects",
			"Bucket for files of the rows that were refused, with the reasons.")),
		strict.Optional("max_rejects", maxRejects, &p.MaxRejects, "5%",
			"How many rows of a file, or what share of them, may be no records before the file is taken for one of "+
				"another kind and nothing of it is sent. "+
				"What comes too late, and what the service refuses, doesn't count. 100% lets every file through."),
		strict.Optional("on_unknown", strict.OneOf("resend", "park"), &p.OnUnknown, "park",
			"What happens to a record that may have been taken, because its answer was lost. "+r.resend),
		strict.Optional("window_days", strict.Whole(1, 30), &p.WindowDays, "14",
			"How many days back from today files are looked for."),
		strict.Optional("first", strict.Bool, &p.First, "true",
			"Whether the job may send files that are older than a day although nothing that it has pushed is on "+
				"record. Without the key its first run is refused then, because the ledger may have been lost, or "+
				"the job renamed. Take it out once something is on record: with it, a lost ledger isn't noticed."),
		strict.Optional("wait_until_quiet", quietTime, &p.Quiet, "30s",
			"How long a file must not have changed before a run takes it, because it may still be growing. "+
				"true stands for 5m; 0 and false take each file at once."),
		strict.Optional("rate", shape.PerSecond("records"), &p.Rate, "50", "Records a second."),
		strict.Optional("in_flight", strict.Whole(1, 1000), &p.InFlight, "16", "Records at a time."),
		strict.Optional("columns", byField("columns", r.fields, strict.Text, nil), &p.Columns, r.column,
			"Columns of the files that a record's fields are taken from, where their names differ."),
		strict.Optional("constants", byField("constants", r.fields, strict.Word, constants), &p.Constants, r.constant,
			"Values of fields that are the same in every record, instead of columns."),
	}
}

// quietTime reads a length of time, or 0. It also takes true and false, which were the only values
// once.
var quietTime = strict.Shape[time.Duration]{
	Read: func(d *strict.Decoder, n strict.Node, key string) (time.Duration, bool) {
		switch v, _ := d.Scalar(n); v {
		case true:
			return usualQuiet, true
		case false, uint64(0):
			return 0, true
		default:
			return strict.Duration(0).Read(d, n, key)
		}
	},
	Schema: func() *jsonschema.Schema {
		return &jsonschema.Schema{Title: "a length of time such as 30s, or 0", AnyOf: []*jsonschema.Schema{
			strict.Duration(0).Schema(), {Type: "boolean"}, {Type: "integer", Minimum: json.Number("0"),
				Maximum: json.Number("0")},
		}}
	},
}

// unknownInSource matches what people write in patterns of files and source doesn't know.
var unknownInSource = strict.Expr(`[{}]|\*\*`)

// source reads the URL of files. Messages don't repeat it, because its query may hold a secret.
var source = strict.Checked(shape.Titled(shape.BucketURL, "a URL such as gs://bucket/in/{date}/*.csv"),
	func(d *strict.Decoder, n strict.Node, key, s string) bool {
		path, _, _ := strings.Cut(s, "?")
		_, rest, _ := strings.Cut(path, "://")
		bucket, file, _ := strings.Cut(rest, "/")
		switch {
		case file == "" || strings.HasSuffix(file, "/"):
			d.Fail(n, "%s: this is a folder or a bucket; name its files, such as gs://bucket/in/{date}/*.csv", key)
		case strings.ContainsAny(bucket, "{}*"):
			d.Fail(n, "%s: the bucket itself can't vary", key)
		case unknownInSource.MatchString(strings.ReplaceAll(file, "{date}", "")):
			d.Fail(n, "%s: want {date} for a day and * for any characters but a slash; no other braces, and no **", key)
		default:
			return true
		}
		return false
	})

var shareForm = strict.Expr(`^[0-9]{1,3}(\.[0-9]+)?%$`)

// share reads a number with a percent sign.
var share = strict.Shape[Share]{
	Read: func(d *strict.Decoder, n strict.Node, key string) (Share, bool) {
		v, _ := d.Scalar(n)
		if s, ok := readShare(v); ok {
			return s, true
		}
		d.Fail(n, "%s: want a share above 0%% and up to 100%% such as 5%%, got %q", key, fmt.Sprint(v))
		return 0, false
	},
	Schema: func() *jsonschema.Schema {
		return &jsonschema.Schema{Title: "a share such as 5%", Type: "string", Pattern: shareForm.String()}
	},
}

// shareOrNone reads a share that may be 0%.
var shareOrNone = strict.Shape[Share]{
	Read: func(d *strict.Decoder, n strict.Node, key string) (Share, bool) {
		if v, _ := d.Scalar(n); v == "0%" {
			return 0, true
		}
		return share.Read(d, n, key)
	},
	Schema: share.Schema,
}

// readShare reads a share above 0% and up to 100%. It returns false for anything else.
func readShare(v any) (Share, bool) {
	s, _ := v.(string)
	percent, err := strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64)
	return Share(percent / 100), shareForm.MatchString(s) && err == nil && percent > 0 && percent <= 100
}

// maxRejects reads a number of rows, or a share with a percent sign.
var maxRejects = strict.Shape[MaxRejects]{
	Read: func(d *strict.Decoder, n strict.Node, key string) (MaxRejects, bool) {
		v, _ := d.Scalar(n)
		if s, ok := v.(string); ok {
			share, ok := readShare(v)
			if !ok {
				d.Fail(n, "%s: want a number of rows, or a share above 0%% and up to 100%% such as 5%%, got %q", key, s)
			}
			return MaxRejects{Share: share}, ok
		}
		count, ok := strict.Whole(0, 1_000_000_000).Read(d, n, key)
		return MaxRejects{Count: count}, ok
	},
	Schema: func() *jsonschema.Schema {
		return &jsonschema.Schema{Title: "a number of rows, or a share such as 5%", AnyOf: []*jsonschema.Schema{
			{Type: "integer", Minimum: json.Number("0"), Maximum: json.Number("1000000000")},
			{Type: "string", Pattern: shareForm.String()},
		}}
	},
}

// A recordField is a field of a record that a push kind sends.
type recordField struct{ name, doc string }

// byField reads a mapping of fields to texts, which stands under the key what. check is given the
// texts that the file has, and their places in it; it may be nil.
func byField(what string, fields []recordField, s strict.Shape[string],
	check func(d *strict.Decoder, texts map[string]string, at map[string]strict.Node)) strict.Shape[map[string]string] {
	return strict.ObjectOf(func(texts *map[string]string) strict.Object {
		*texts = map[string]string{}
		into := *texts
		o := strict.Object{What: what}
		if what == "columns" {
			o.Unknown = notField(fields)
		}
		for _, f := range fields {
			o.Fields = append(o.Fields, strict.Field{
				Key: f.name, Doc: f.doc, Schema: s.Schema,
				Read: func(d *strict.Decoder, n strict.Node) {
					if v, ok := s.Read(d, n, f.name); ok {
						into[f.name] = v
					}
				},
			})
		}
		if check != nil {
			o.Check = func(d *strict.Decoder, _ strict.Node, at map[string]strict.Node) { check(d, into, at) }
		}
		return o
	})
}

// notField returns a function that gives the hint for a key under columns that is no field: likely
// the field and the column are the wrong way round.
func notField(fields []recordField) func(string) string {
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	return func(key string) string {
		if strict.DidYouMean(key, names) != "" {
			return ""
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_"+key) {
				return "no field of a record; did you mean " + name + "?"
			}
		}
		return fmt.Sprintf("no field of a record; the field stands in front of the column that it is taken from, as "+
			"in %s: %s; fields are %s",
			names[0], key, strings.Join(names, ", "))
	}
}

// checkTwice refuses a field that comes from a column and is constant too.
func (p *Push) checkTwice(d *strict.Decoder, _ strict.Node, at map[string]strict.Node) {
	for name := range p.Columns {
		if p.Constants[name] != "" {
			d.Fail(at["constants"], "constants: %s is taken from a column already", name)
		}
	}
}
