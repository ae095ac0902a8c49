package simulation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// A watch looks at both stores after every step, as a reader of the ledger and of the files would.
type watch struct {
	world  *world
	living map[*process]bool
	dirty  bool
	read   map[*object]*document // of the ledger's objects

	seq   []int // by day: of the newest record
	floor []int // the newest restatement that a record has promised
	shown []int // the newest that the files have shown
}

func newWatch(w *world) *watch {
	x := &watch{world: w, living: map[*process]bool{}, read: map[*object]*document{}}
	for range w.fate.days {
		x.seq, x.floor, x.shown = append(x.seq, 0), append(x.floor, -1), append(x.shown, -1)
	}
	return x
}

func (x *watch) alive() []*process {
	return slices.SortedFunc(maps.Keys(x.living), func(a, b *process) int { return cmp.Compare(a.name, b.name) })
}

func (x *watch) changed(s *store, key string, o *object) {
	older := strings.Contains(key, "/history/")
	x.dirty = x.dirty || s == x.world.lake || strings.Contains(key, "/months/") || older
	x.world.annals.changed(key, o)
	switch {
	case o == nil:
	case older:
		x.world.stats.older++
	case key == indexKey:
		x.world.stats.indexes++
	}
}

// indexKey is the copy of all months, which a plan reads.
const indexKey = "tables/" + table + "/months/index.json"

// isMonth tells whether an object has the records of a month.
func isMonth(key string) bool { return strings.Contains(key, "/months/") && key != indexKey }

// months are the keys of all months.
func (x *watch) months() (keys []string) {
	for key := range x.world.ledger.objects {
		if isMonth(key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// newest gives the newest records, by day, as the months hold them now.
func (x *watch) newest() []ledger.Record {
	newest := make([]ledger.Record, x.world.fate.days)
	for _, key := range x.months() {
		for _, e := range x.open(x.world.ledger.objects[key]).Records {
			newest[e.Partition.DaysSince(firstDay)] = e
		}
	}
	return newest
}

// A document is what an object of the ledger says: a month, an object of its history, or the index.
type document struct {
	Records, History []ledger.Record
	Older            []string
	Lines            []ledger.Record
	Months           map[string]struct {
		Version string
		Records []ledger.Record
	}
}

var unpack, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))

// open reads an object.
func (x *watch) open(o *object) *document {
	if d, known := x.read[o]; known {
		return d
	}
	data := o.data
	var err error
	if data[0] != '{' {
		data, err = unpack.DecodeAll(data, nil)
	}
	var e struct{ Content document }
	if err == nil {
		err = json.Unmarshal(data, &e)
	}
	if err != nil {
		panic(fmt.Sprintf("half a document, which no store makes: %v: %s", err, data))
	}
	x.read[o] = &e.Content
	return &e.Content
}

// indexed holds the index against the months that are still as it says: it is a copy of these.
func (x *watch) indexed() {
	o := x.world.ledger.objects[indexKey]
	if o == nil {
		return
	}
	for name, m := range x.open(o).Months {
		is := x.world.ledger.objects["tables/"+table+"/months/"+name+".json"]
		if is != nil && is.etag == m.Version && !slices.EqualFunc(m.Records, x.open(is).Records, same) {
			x.world.violate("the index has what a month has", "of %s as it is it has%s", name, told(m.Records))
		}
	}
}

func (x *watch) file(day int) *object {
	return x.world.lake.objects[fmt.Sprintf("%s/dt=%s/part-0.parquet", table, firstDay.AddDays(day))]
}

// check holds both stores against the invariants.
func (x *watch) check() {
	if !x.dirty {
		return
	}
	x.dirty = false
	w := x.world
	w.annals.check()
	x.indexed()
	for day, e := range x.newest() {
		name := firstDay.AddDays(day)
		if e.Seq < x.seq[day] {
			w.violate("records never go back", "%s: record %d after %d", name, e.Seq, x.seq[day])
		}
		if e.Seq > x.seq[day] && e.State != ledger.Publishing {
			promised, err := strconv.Atoi(e.Sums["restatement"])
			if err != nil {
				w.violate("a record says what it is of", "%s: %+v", name, e)
			}
			if promised < x.floor[day] {
				w.violate("records never grow older", "%s: record %d of %s is of restatement %d, and an earlier one of %d",
					name, e.Seq, e.Run, promised, x.floor[day])
			}
			x.floor[day] = max(promised, x.floor[day])
		}
		x.seq[day] = max(e.Seq, x.seq[day])
		o := x.file(day)
		if o == nil {
			if e.State == ledger.Written || e.State == ledger.Cleared {
				w.violate("what is recorded is there", "%s: no file, and record %d is %s", name, e.Seq, e.State)
			}
			continue
		}
		shown, whole := w.truth.newest(day, o.data)
		switch {
		case !whole:
			w.violate("no half file", "%s: %q", name, o.data)
		case shown < x.floor[day]:
			w.violate("readers see nothing older than the record", "%s: files show restatement %d, record %d (%s by %s) promises %d",
				name, shown, e.Seq, e.State, e.Run, x.floor[day])
		case shown < x.shown[day]:
			w.violate("reads never go back", "%s: files show restatement %d, and showed %d", name, shown, x.shown[day])
		}
		x.shown[day] = w.truth.oldest(day, o.data, x.shown[day])
	}
}

// equal wants the ledger, the files and the truth to be one.
func (x *watch) equal(when string) {
	w := x.world
	for day, e := range x.newest() {
		told, o, name := w.truth.now(day), x.file(day), firstDay.AddDays(day)
		var shown string
		if o != nil {
			shown = string(content(o.data))
		}
		switch {
		case e.Rows != told.rows, told.rows > 0 && (e.State != ledger.Written || e.Hash != told.hash):
			w.violate("the ledger equals the truth", "%s, %s: record %d of %s is %s with %d rows of restatement %s, and the truth has %d of %d",
				when, name, e.Seq, e.Run, e.State, e.Rows, e.Sums["restatement"], told.rows, told.restatement)
		case told.rows == 0 && e.State != ledger.Empty && e.State != ledger.Cleared:
			w.violate("the ledger equals the truth", "%s, %s: record %d is %s, and the truth is empty", when, name, e.Seq, e.State)
		case (told.rows > 0 || o != nil) && shown != string(told.data):
			w.violate("the files equal the truth", "%s, %s: record %d is %s, files show %q, and the truth is restatement %d: %q",
				when, name, e.Seq, e.State, shown, told.restatement, told.data)
		}
	}
}

// part tells a partition's file from what a sink writes to try its store.
func (x *watch) part(key string) bool { return strings.HasPrefix(key, table+"/") }

// issued looks at what a process sends: nothing may be published when it could see that its lease was over the
// ledger answered it last on the way to the put. It may have been put to sleep since, which the condition of the
// put is for.
func (x *watch) issued(c *call) {
	p := c.process
	if c.store == x.world.lake && c.writes() && x.part(c.key) && p.asked-p.beat() > lease && p.knows(p.beat(), p.asked) {
		x.world.violate("nobody publishes after its lease", "%s sends %s; %v after its last heartbeat the ledger answered it last",
			p.name, c.key, p.asked-p.beat())
	}
}

// answered takes note of signs of life, and of looks at the claim before a put.
func (x *watch) answered(c *call) {
	p, claim := c.process, c.key[:max(0, strings.LastIndexByte(c.key, '/'))]
	_, held := p.beats[claim]
	if c.result.err == nil && c.store == x.world.ledger && c.publishing { // the put that comes next asks its lease after this
		p.asked = x.world.now
	}
	switch {
	case c.result.err != nil:
	case held && c.op == "put":
		p.beats[claim] = c.at
	case c.op == "put" && strings.Contains(claim, "/claims/"): // the unit's other claims are yet to be taken
		p.early[claim] = c.at
	case c.op == "list" && strings.Contains(claim, "/claims/") && len(c.result.list) == 1 && c.result.list[0].key == c.key &&
		epoch.Add(c.at).Sub(c.result.list[0].modTime) > lease: // it looks how old another's claim is
		p.expired[claim] = c.at
	}
}

// works takes note of what a process has begun to work on. Nobody else may be at it whose lease isn't over, nor was when the
// process looked at the claim: one that slept until then may send its heartbeat between the look and the creation.
func (x *watch) works(p *process, w refresh.Window) {
	for _, d := range w.Due {
		p.holding = append(p.holding, d.Partition)
	}
	live := func(q *process) bool { return q.slept < q.beat() && p.now()-q.beat() < lease*9/10 }
	if !live(p) || x.world.fate.unclaimed {
		return // it doesn't know yet
	}
	for _, q := range x.alive() {
		if q == p || !live(q) {
			continue
		}
		for _, d := range w.Due {
			if slices.Contains(q.holding, d.Partition) && !awoke(p, q) {
				x.world.violate("one live holder", "%s begins %s, and %s, who has shown life %v ago, is at it",
					p.name, d.Partition, q.name, p.now()-q.beat())
			}
		}
	}
}

// awoke tells whether p found the lease of a claim over that q has shown life in since.
func awoke(p, q *process) bool {
	for claim, beat := range q.beats {
		if looked, expired := p.expired[claim]; expired && looked < beat {
			return true
		}
	}
	return false
}
