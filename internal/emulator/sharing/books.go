package sharing

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/reading"
	"github.com/reportferry/reportferry/internal/emulator/store"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// deviceKey names a device of an app.
type deviceKey struct {
	app    string
	idType uint8 // index in idTypes
	id     string
}

// idTypes are the kinds of device IDs, as parameters name them.
var idTypes = [...]string{"idfa", "gps_adid"}

// devices returns the devices that the request is about: one for each kind of ID that it has.
func (req *request) devices() []deviceKey {
	keys := make([]deviceKey, 0, len(idTypes))
	for i, id := range [...]string{req.idfa, req.gpsADID} {
		if id != "" {
			keys = append(keys, deviceKey{req.app, uint8(i), id})
		}
	}
	return keys
}

// device is what requests have set for a device.
type device struct {
	master      string // what came last of sharing: "enable", "disable" or nothing
	choices     choices
	options     []option
	arrivals    int
	lastHash    uint64 // a hash of the content that came last
	lastArrival int    // the number of its last arrival among all devices' arrivals
}

// deviceStore holds the devices' settings. They can be rebuilt from the log.
type deviceStore struct {
	partners *partnerNames
	log      *store.Log
	kept     bool         // an answer waits until its line is in the log's file
	hashSeed maphash.Seed // of device.lastHash
	answers  wire.Counter

	mu         sync.Mutex
	devices    map[deviceKey]*device
	underWay   map[deviceKey]int // how many requests about a device are under way
	records    int               // this and the next two: see Summary
	duplicates int
	overlaps   int
}

// newDeviceStore returns a store without devices, for these partners.
func newDeviceStore(partners *partnerNames) *deviceStore {
	b := &deviceStore{partners: partners, hashSeed: maphash.MakeSeed()}
	b.clear()
	return b
}

// clear empties devices and counts; the caller holds the lock, or is alone.
func (b *deviceStore) clear() {
	b.devices, b.underWay = map[deviceKey]*device{}, map[deviceKey]int{}
	b.answers.Clear()
	b.records, b.duplicates, b.overlaps = 0, 0, 0
}

// enter notes that a request about its devices is under way, until leave is called.
func (b *deviceStore) enter(req request) (leave func()) {
	keys := req.devices()
	if len(keys) == 0 {
		return func() {}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	busy, here := false, b.underWay // clear may put another map into b before leave is called
	for _, k := range keys {
		busy = busy || here[k] > 0
		here[k]++
	}
	if busy {
		b.overlaps++
	}
	return sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, k := range keys {
			if here[k]--; here[k] == 0 {
				delete(here, k)
			}
		}
	})
}

// take records a request in memory and in the log, and returns when it is kept.
func (b *deviceStore) take(req request, now time.Time) error {
	line := b.line(req, now)
	b.mu.Lock()
	b.apply(req, line[contentOf(line):])
	batch := b.log.Add(line) // under the same lock: the log has the order in which settings changed
	b.mu.Unlock()
	if !b.kept {
		return nil
	}
	return batch.Wait()
}

// apply records a request in memory; content is the part of its log line that says what is asked
// for.
func (b *deviceStore) apply(req request, content []byte) {
	sum := maphash.Bytes(b.hashSeed, content)
	same, master := true, strings.Clone(req.master) // copies, because the texts would keep the whole request in memory
	options := make([]option, len(req.options))
	for i, o := range req.options {
		options[i] = option{strings.Clone(o.group), strings.Clone(o.key), strings.Clone(o.value)}
	}
	for _, d := range b.devicesOf(req) {
		same = same && d.arrivals > 0 && d.lastHash == sum
		d.arrivals++
		d.lastHash, d.lastArrival = sum, b.records+1
		if req.master != "" {
			d.master = master
		}
		d.choices = d.choices.with(req.settings)
		d.options = mergedOptions(d.options, options)
	}
	b.records++
	if same {
		b.duplicates++
	}
}

// devicesOf returns the devices that a request is about, and adds those that aren't known yet.
// Under the reading that one device may have both IDs, what came last for either holds for both.
func (b *deviceStore) devicesOf(req request) (list []*device) {
	keys := req.devices()
	for i, k := range keys {
		d := b.devices[k]
		if d == nil {
			keys[i].id = strings.Clone(k.id)
			d = &device{}
			b.devices[keys[i]] = d
		}
		list = append(list, d)
	}
	if len(list) == 2 && b.partners.readings.Is(reading.SharingBoth, "one") {
		one := list[0]
		if list[1].lastArrival > one.lastArrival {
			one = list[1]
		}
		b.devices[keys[0]], b.devices[keys[1]] = one, one
		return []*device{one}
	}
	return list
}

// Summary is what arrived at /third_party_sharing.
type Summary struct {
	wire.Counts
	Records    int `json:"records"`    // arrivals that were taken
	Devices    int `json:"devices"`    // different ones: app, type of ID and ID
	Duplicates int `json:"duplicates"` // arrivals with the content of the same device's one before
	Overlaps   int `json:"overlaps"`   // arrivals that came while another of the same device was under way
}

// summary sums up what arrived at /third_party_sharing. The earlier arrivals in a kept file count
// too, except those that were refused.
func (b *deviceStore) summary() Summary {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Summary{Counts: b.answers.Counts(), Records: b.records, Devices: len(b.devices), Duplicates: b.duplicates,
		Overlaps: b.overlaps}
}

// reset forgets all devices, the log and the counts.
func (b *deviceStore) reset() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.log.Erase(); err != nil {
		return fmt.Errorf("reset sharing: %w", err)
	}
	b.clear()
	return nil
}

// replay rebuilds the settings and the counts from the log of a kept file.
func (b *deviceStore) replay() error {
	err := b.log.Lines(context.Background(), func(line string) error {
		req, _, err := b.parseLine(line)
		if err != nil {
			return err
		}
		b.apply(req, []byte(line)[contentOf([]byte(line)):])
		b.answers.Answer(req.status, "")
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the log of sharing: %w", err)
	}
	return nil
}

// compare orders devices by app, kind of ID and ID.
func (k deviceKey) compare(other deviceKey) int {
	return cmp.Or(strings.Compare(k.app, other.app), cmp.Compare(k.idType, other.idType),
		strings.Compare(k.id, other.id))
}
