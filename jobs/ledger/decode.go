package ledger

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/sinks"
)

// decodeEntries decodes records that encoding/json wrote, faster than encoding/json would: every
// plan reads the index of its table, which is megabytes for ten years of days. Libraries were
// tried, with BenchmarkPlan: go-json-experiment/json, the coming encoding/json/v2, takes three
// quarters of the time, and makes the binary half a megabyte larger, beyond what the image may
// have; goccy/go-json takes two thirds, and its strings keep the whole index in memory, 1.8 GiB for
// a thousand tables. ok is false for anything that isn't written as encoding/json writes a Record
// of this version; the caller then uses encoding/json, which reads it or explains what is wrong.
func decodeEntries(content string) (entries []Record, ok bool) {
	c := cursor{text: content}
	entries = c.entries()
	return entries, !c.bad && c.at == len(c.text)
}

// decode decodes an index in the same way, because encoding/json scans each value twice before the
// records in it are decoded. Leases are left to encoding/json, because an index hardly ever has
// one.
func (i *index) decode(content string) (ok bool) {
	c := cursor{text: content}
	months := map[string]indexedMonth{}
	c.word(`{"months":`)
	c.object(func(name string) { months[name] = c.indexedMonth() })
	if c.must(','); c.bad {
		return false
	}
	rest, err := parse[index]([]byte("{" + c.text[c.at:]))
	if err != nil || rest.Months != nil {
		return false
	}
	*i = index{Months: months, Shapes: rest.Shapes, Scopes: rest.Scopes}
	return true
}

func (c *cursor) indexedMonth() (m indexedMonth) {
	c.object(func(key string) {
		switch key {
		case "version":
			m.Version = c.string()
		case "oldest":
			m.Oldest = c.time()
		case "records":
			m.Records = c.entries()
		case "derived":
			m.Derived = map[string]*section{}
			c.object(func(name string) {
				m.Derived[name] = &section{}
				c.object(func(key string) {
					c.bad = c.bad || key != "records"
					m.Derived[name].Records = c.entries()
				})
			})
		default:
			c.bad = true
		}
	})
	return m
}

// entries reads a list of records.
func (c *cursor) entries() (entries []Record) {
	entries = make([]Record, 0, c.listed)
	c.list('[', ']', func() {
		var e Record
		c.entry(&e)
		entries = append(entries, e)
	})
	c.listed = len(entries)
	return entries
}

// entry reads one record. A key that isn't listed here makes c bad, so that encoding/json decides.
func (c *cursor) entry(e *Record) {
	c.object(func(key string) {
		switch key {
		case "partition":
			e.Partition = c.date()
		case "seq":
			e.Seq = int(c.int())
		case "after":
			e.After = int(c.int())
		case "run":
			e.Run = c.string()
		case "fetched":
			e.Fetched = c.time()
		case "state":
			e.State = State(c.string())
		case "cause":
			e.Cause = c.string()
		case "rows":
			e.Rows = c.int()
		case "hash":
			e.Hash = c.string()
		case "shape":
			e.Shape = c.string()
		case "sums":
			e.Sums = c.texts()
		case "receipts":
			c.list('[', ']', func() { e.Receipts = append(e.Receipts, c.receipt()) })
		case "reason":
			e.Reason = c.string()
		case "since":
			e.Since = c.time()
		case "finality":
			e.Finality = c.string()
		case "changed_after_final":
			e.Moved = c.word("true")
		case "control":
			e.Control = c.control()
		case "raw":
			c.list('[', ']', func() { e.Raw = append(e.Raw, c.string()) })
		case "asked":
			e.Asked = int(c.int())
		case "same":
			e.Same = int(c.int())
		case "scope":
			e.Scope = c.string()
		case "held_back":
			e.HeldBack = c.heldBack()
		case "accepted":
			e.Accepted = c.acceptance()
		default:
			c.bad = true
		}
	})
}

// texts reads an object whose values are strings.
func (c *cursor) texts() map[string]string {
	m := make(map[string]string, c.sums)
	c.object(func(key string) { m[key] = c.string() })
	c.sums = len(m)
	return m
}

func (c *cursor) heldBack() *HeldBack {
	h := &HeldBack{}
	c.object(func(key string) {
		switch key {
		case "why":
			h.Why = c.string()
		case "run":
			h.Run = c.string()
		case "since":
			h.Since = c.time()
		case "last":
			h.Last = c.time()
		case "days":
			h.Days = int(c.int())
		case "rows":
			h.Rows = c.int()
		case "sums":
			h.Sums = c.texts()
		case "accepted":
			h.Accepted = c.acceptance()
		default:
			c.bad = true
		}
	})
	return h
}

func (c *cursor) acceptance() *Acceptance {
	a := &Acceptance{}
	c.object(func(key string) {
		switch key {
		case "at":
			a.At = c.time()
		case "reason":
			a.Reason = c.string()
		case "person":
			a.Person = c.word("true")
		default:
			c.bad = true
		}
	})
	return a
}

func (c *cursor) receipt() (r sinks.Receipt) {
	c.object(func(key string) {
		switch key {
		case "sink":
			r.Sink = c.string()
		case "key":
			r.Key = c.string()
		case "size":
			r.Size = c.int()
		case "store":
			r.Store = c.string()
		case "version":
			r.Version = c.string()
		default:
			c.bad = true
		}
	})
	return r
}

func (c *cursor) control() *Control {
	r := &Control{}
	c.object(func(key string) {
		switch key {
		case "state":
			r.State = ControlState(c.string())
		case "why":
			r.Why = c.string()
		case "differences":
			c.list('[', ']', func() { r.Differences = append(r.Differences, c.difference()) })
		case "totals":
			r.Totals = c.texts()
		default:
			c.bad = true
		}
	})
	return r
}

func (c *cursor) difference() (d Difference) {
	c.object(func(key string) {
		switch key {
		case "metric":
			d.Metric = c.string()
		case "rows":
			d.Rows = c.string()
		case "total":
			d.Total = c.string()
		case "of":
			d.Of = c.string()
		case "where":
			d.Where = c.string()
		default:
			c.bad = true
		}
	})
	return d
}

// A cursor reads JSON without blanks. Each method reads the value that its name or result says.
// After a mistake, bad is true, and the results are meaningless.
type cursor struct {
	text   string
	at     int  // index of the next byte to read
	bad    bool // the text isn't as expected
	sums   int  // size of the last map of texts; the next one mostly has the same
	listed int  // number of records in the last list; likewise
}

// next skips one byte if it is b, and reports whether it was.
func (c *cursor) next(b byte) bool {
	if c.bad || c.at >= len(c.text) || c.text[c.at] != b {
		return false
	}
	c.at++
	return true
}

// must skips one byte, which must be b.
func (c *cursor) must(b byte) { c.bad = !c.next(b) || c.bad }

// list reads a list between two brackets or braces; item reads one item of it.
func (c *cursor) list(opening, closing byte, item func()) {
	c.must(opening)
	if c.next(closing) {
		return
	}
	for item(); c.next(','); {
		item()
	}
	c.must(closing)
}

// object reads an object; field reads the value of one key.
func (c *cursor) object(field func(key string)) {
	c.list('{', '}', func() {
		key := c.string()
		c.must(':')
		if !c.bad {
			field(key)
		}
	})
}

func (c *cursor) string() string {
	c.must('"')
	start := c.at
	for ; !c.bad && c.at < len(c.text); c.at++ {
		switch b := c.text[c.at]; {
		case b == '"':
			c.at++
			return c.text[start : c.at-1]
		case b == '\\':
			return c.escaped(start - 1)
		case b < ' ' || b >= 0x80: // invalid, or not ASCII: encoding/json decides
			c.bad = true
		}
	}
	c.bad = true
	return ""
}

// escaped reads a string with escapes in it, whose opening quote is at start.
func (c *cursor) escaped(start int) (s string) {
	for ; c.at < len(c.text) && c.text[c.at] != '"'; c.at++ {
		if c.text[c.at] == '\\' {
			c.at++
		}
	}
	c.must('"')
	c.bad = c.bad || json.Unmarshal([]byte(c.text[start:c.at]), &s) != nil
	return s
}

// word skips a word, which is the only text that may be written there.
func (c *cursor) word(w string) bool {
	c.bad = c.bad || !strings.HasPrefix(c.text[c.at:], w)
	if !c.bad {
		c.at += len(w)
	}
	return !c.bad
}

// int reads a whole number in the spelling that encoding/json writes.
func (c *cursor) int() int64 {
	start := c.at
	for c.at < len(c.text) && (c.text[c.at] == '-' || c.text[c.at] >= '0' && c.text[c.at] <= '9') {
		c.at++
	}
	digits := c.text[start:c.at]
	n, err := strconv.ParseInt(digits, 10, 64)
	c.bad = c.bad || err != nil || strconv.FormatInt(n, 10) != digits
	return n
}

func (c *cursor) time() time.Time {
	t, err := time.Parse(time.RFC3339Nano, c.string())
	c.bad = c.bad || err != nil
	return t
}

func (c *cursor) date() civil.Date {
	d, err := civil.ParseDate(c.string())
	c.bad = c.bad || err != nil
	return d
}
