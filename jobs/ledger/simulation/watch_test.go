package simulation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/state"
)

// A watch looks at both stores after every step, as a reader of the ledger and of the files would.
type watch struct {
	world  *world
	living map[*process]bool
	dirty  bool
	read   map[*object]*document // of the ledger's objects
	leases map[civil.Date]lease  // as the months have them

	seq   []int // by day: of the newest record
	floor []int // the newest restatement that a record has promised
	shown []int // the newest that the files have shown
}

func newWatch(w *world) *watch {
	x := &watch{world: w, living: map[*process]bool{}, read: map[*object]*document{}, leases: map[civil.Date]lease{}}
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
	case s == x.world.ledger && isMonth(key):
		x.swapped(key, x.open(o).Leases)
	}
}

// swapped wants leases that aren't over, by the store's clock, to be taken or ended by nobody but
// their holders and other attempts of their tasks.
func (x *watch) swapped(key string, leases map[civil.Date]lease) {
	w, by := x.world, x.world.writer
	for p, was := range x.leases {
		if !strings.Contains(key, p.String()[:7]) {
			continue
		}
		if leases[p].Token != was.Token && was.Run != by.name && (was.Task == "" || was.Task != by.task) &&
			epoch.Add(w.now).Before(was.Until) {
			w.violate("a lease is its holder's until it is over", "%s: %s ends that of %s, which lasts until %v", p,
				by.name, was.Run, was.Until)
		}
		delete(x.leases, p)
	}
	for p, l := range leases {
		x.leases[p] = l
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
	Leases           map[civil.Date]lease
	Derived          map[string]*document
	Older            []string
	Lines            []ledger.Record
	Months           map[string]struct {
		Version string
		Records []ledger.Record
		Leases  map[civil.Date]lease
	}
}

type lease struct {
	Token, Run, Task string
	Until            time.Time
	Doubt            bool
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
		if is != nil && is.etag == m.Version && (!slices.EqualFunc(m.Records, x.open(is).Records, same) ||
			!maps.Equal(m.Leases, x.open(is).Leases)) {
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
		if e.Seq > x.seq[day] {
			promised, err := strconv.Atoi(e.Sums["restatement"])
			if err != nil {
				w.violate("a record says what it is of", "%s: %+v", name, e)
			}
			if promised < x.floor[day] {
				w.violate("records never grow older",
					"%s: record %d of %s is of restatement %d, and an earlier one of %d",
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
		if _, leased := x.leases[name]; !leased && (len(e.Receipts) != 1 || o.etag != `"`+e.Receipts[0].Version+`"`) {
			w.violate("a record without a lease names what is there",
				"%s: the file is %s, and record %d of %s, which is %s, has %+v",
				name, o.etag, e.Seq, e.Run, e.State, e.Receipts)
		}
		shown, whole := w.truth.newest(day, o.data)
		switch {
		case !whole:
			w.violate("no half file", "%s: %q", name, o.data)
		case shown < x.floor[day]:
			w.violate("readers see nothing older than the record",
				"%s: files show restatement %d, record %d (%s by %s) promises %d",
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
		l, leased := x.leases[name]
		switch {
		case leased:
			w.violate("nothing is left in doubt", "%s, %s: %+v", when, name, l)
		case e.Rows != told.rows, told.rows > 0 && (e.State != ledger.Written || e.Hash != told.hash):
			w.violate("the ledger equals the truth",
				"%s, %s: record %d of %s is %s with %d rows of restatement %s, and the truth has %d of %d",
				when, name, e.Seq, e.Run, e.State, e.Rows, e.Sums["restatement"], told.rows, told.restatement)
		case told.rows == 0 && e.State != ledger.Empty && e.State != ledger.Cleared:
			w.violate("the ledger equals the truth", "%s, %s: record %d is %s, and the truth is empty", when, name,
				e.Seq, e.State)
		case (told.rows > 0 || o != nil) && shown != string(told.data):
			w.violate("the files equal the truth",
				"%s, %s: record %d is %s, files show %q, and the truth is restatement %d: %q",
				when, name, e.Seq, e.State, shown, told.restatement, told.data)
		}
	}
}

// derived wants the table of partitions to have a row of each record, and no lease to be left.
func (x *watch) derived(when string) {
	const states = state.Prefix + state.Partitions
	for _, key := range x.months() {
		m := x.open(x.world.ledger.objects[key])
		seqs := 0
		for _, e := range m.Records {
			seqs += e.Seq
		}
		is := m.Derived[states]
		if is == nil || len(is.Records) != 1 || len(is.Leases) > 0 {
			x.world.violate("what is derived is there", "%s, %s: %+v", when, key, is)
			continue
		}
		e := is.Records[0]
		o := x.world.lake.objects[fmt.Sprintf("%s/table=%s/dt=%s/part-0.parquet", states, table, e.Partition)]
		if o == nil || len(e.Receipts) != 1 || o.etag != `"`+e.Receipts[0].Version+`"` ||
			e.Rows != int64(len(m.Records)) || e.Sums["seq"] != strconv.Itoa(seqs) {
			x.world.violate("what is derived tells of all records",
				"%s, %s: %d records, whose numbers come to %d, and %+v, %v", when, key, len(m.Records), seqs, e,
				o != nil)
		}
	}
}

// part tells a partition's file from what a sink writes to try its store.
func (x *watch) part(key string) bool { return strings.HasPrefix(key, table+"/") }

// issued looks at what a process sends: nothing may be put when the lease was over by a clock of
// the process. A wall clock that was put back may have been so between the beginning of a renewal
// and its request.
func (x *watch) issued(c *call) {
	p := c.process
	if c.store != x.world.lake || !c.writes() || !x.part(c.key) || p.proving {
		return
	}
	since := c.ran - p.renewed.ran
	if !slices.ContainsFunc(p.jumps, func(j jump) bool { return j.at > p.birth && j.at <= c.at && j.by < 0 }) {
		since = max(since, c.wall-p.renewed.wall)
	}
	if since > lasting {
		x.world.violate("nobody publishes after its lease", "%s sends %s %v after it has renewed its lease", p.name,
			c.key, since)
	}
}

// answered takes note of leases that the store has confirmed.
func (x *watch) answered(c *call) {
	p := c.process
	if c.store == x.world.lake {
		p.proving = !x.part(c.key)
	}
	if c.result.err != nil || !c.writes() || !isMonth(c.key) {
		return
	}
	for _, l := range x.open(c.result.object).Leases {
		if l.Run == p.name && l.Until.After(p.until) {
			p.until, p.renewed = l.Until, c
		}
	}
}
