package spend

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/reading"
	"github.com/reportferry/reportferry/internal/emulator/store"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// window is how long after an engagement its spend is taken. Source: the service's interface
// document.
const window = 7 * 24 * time.Hour

// The states of a Cost ID. A pending one belongs to no known engagement yet, and expires after
// window.
const (
	matched = iota // booked on its engagement's day
	late           // came after the window: answered 200, because the service matches afterwards, but booked nowhere
	pending
	unrated // in a currency that the emulator has no rate of: booked nowhere
)

// stateNames are the names of these states.
var stateNames = []string{"matched", "late", "pending", "unrated"}

// keptRecord is what is kept of one Cost ID.
type keptRecord struct {
	amount   int64 // in units of 0.00001 of the currency
	tag      string
	received int64  // when it came first, in seconds since 1970
	row      int    // id of the fact that it is part of; 0: none
	times    uint32 // arrivals that were answered 200
	replaced uint32 // arrivals with other content than before
	pricing  uint8  // index in costTypes, counted from 1
	currency uint8  // index in isoCodes
	state    uint8  // index in stateNames
}

// costStore holds the spend that was taken. A record is taken for good once it was answered 200: if
// a file is kept, the record is in it by then.
type costStore struct {
	log      *store.Log  // nil: nothing is kept
	readings reading.Set // what is refused, and what a Cost ID that is there already means

	answers wire.Counter

	mu      sync.Mutex
	records map[string]keptRecord // by Cost ID
	rows    map[int]*factRow      // by the fact's id
	dirty   map[int]bool          // ids of rows that the table facts has otherwise, or lacks
	same    int                   // arrivals with the content that was there, or any under the reading keeps
	other   int                   // arrivals that replaced what was there
	tooLate int                   // arrivals after the window, whose content is in no report
}

// newCostStore returns a store without records or a log.
func newCostStore(readings reading.Set) *costStore {
	return &costStore{readings: readings, records: map[string]keptRecord{}, rows: map[int]*factRow{},
		dirty: map[int]bool{}}
}

// take applies a record, and returns when it is kept. matches tells whether e is the engagement of
// its Cost ID; otherwise there is none.
func (b *costStore) take(rec record, e facts.Engagement, matches bool, now time.Time) (status int, refused string,
	err error) {
	b.mu.Lock()
	if status, refused := b.refuses(rec, e, matches, now); refused != "" {
		b.mu.Unlock()
		return status, refused, nil
	}
	b.apply(rec, e, matches, now)
	kept := b.keepRecord(rec, now) // under the same lock, so that the log has the order of apply
	b.mu.Unlock()
	return http.StatusOK, "", kept.Wait()
}

// The reasons to refuse a Cost ID that is there already. The client isn't shown usedAgainBare.
const usedAgain, usedAgainBare = "cost_id: already used", "cost_id: used before"

// refuses returns the status and the reason if the chosen readings refuse a record because its Cost
// ID is there already, or because of its engagement. Otherwise the reason is "".
func (b *costStore) refuses(rec record, e facts.Engagement, matches bool, now time.Time) (status int, refused string) {
	status = http.StatusBadRequest
	_, known := b.records[rec.costID]
	switch duplicate := b.readings.Of(reading.SpendDuplicate); {
	case known && duplicate == "409":
		return http.StatusConflict, usedAgain
	case known && duplicate == "400":
		return status, usedAgain
	case known && duplicate == "bare":
		return status, usedAgainBare
	}
	switch unknown := b.readings.Of(reading.SpendUnknown); {
	case matches && now.Sub(e.Time) > window && b.readings.Is(reading.SpendLate, "400"):
		return status, "cost_id: of an engagement more than seven days ago"
	case !matches && unknown == "404":
		return http.StatusNotFound, "cost_id: of no known engagement"
	case !matches && unknown == "400":
		return status, "cost_id: of no known engagement"
	}
	return 0, ""
}

// apply does the part of take that is in memory. The same content again changes nothing. Other
// content replaces what was there, unless the engagement is too old by now.
func (b *costStore) apply(rec record, e facts.Engagement, matches bool, now time.Time) {
	old, known := b.records[rec.costID]
	tooLate := matches && now.Sub(e.Time) > window
	r := keptRecord{amount: rec.amount, tag: strings.Clone(rec.tag), received: now.Unix(), pricing: rec.pricing,
		currency: rec.currency, state: pending, times: 1}
	if known {
		r.received, r.times, r.replaced = old.received, old.times+1, old.replaced
		same := old.amount == rec.amount && old.tag == rec.tag && old.pricing == rec.pricing &&
			old.currency == rec.currency
		stays := same || b.readings.Is(reading.SpendDuplicate, "keeps")
		if stays || tooLate {
			old.times++
			b.records[rec.costID] = old
			if stays {
				b.same++
			} else {
				b.tooLate++
			}
			return
		}
		b.other++
		r.replaced++
		b.count(old, nil, -1)
	}
	switch {
	case !matches:
	case tooLate:
		r.state = late
		b.tooLate++
	case ratesByCode[rec.currency].Num == 0:
		r.state = unrated
	default:
		r.state = matched
		r.row = e.SpendRow(int(rec.pricing))
		b.count(r, e.Fact, +1)
	}
	b.records[strings.Clone(rec.costID)] = r // a copy that doesn't keep the request in memory
}

// Summary is what arrived at /cost.
type Summary struct {
	wire.Counts
	Records    int            `json:"records"`    // different Cost IDs that were taken
	Duplicates int            `json:"duplicates"` // arrivals of a Cost ID with the content that it had
	Replaced   int            `json:"replaced"`   // arrivals with other content, which replaced it
	TooLate    int            `json:"too_late"`   // arrivals after the window, which are in no report
	States     map[string]int `json:"states"`     // different Cost IDs: matched, late, pending, expired, unrated
	Totals     []Total        `json:"totals"`     // of the matched ones
}

// Total is the spend of one day of engagements, by UTC.
type Total struct {
	Day      string `json:"day"`
	CostType string `json:"cost_type"`
	Currency string `json:"cost_currency"` // lower case
	Records  int    `json:"records"`
	Amount   string `json:"amount"` // the sum of cost_amount, exact
}

// Record is one Cost ID with what was sent of it last.
type Record struct {
	CostType, Currency, Amount, CostID, Tag string

	State    string // matched, late, pending, expired or unrated
	Day      string // of the engagement by UTC; "" unless matched
	Times    int    // arrivals that were answered 200
	Replaced int    // how often other content came
}

// Summary sums up what arrived at /cost. That includes earlier arrivals in a kept file, except
// those that were refused.
func (s *Service) Summary() Summary {
	b, now := s.costs, s.opts.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	out := Summary{Counts: b.answers.Counts(), Records: len(b.records), Duplicates: b.same, Replaced: b.other,
		TooLate: b.tooLate, States: map[string]int{}, Totals: []Total{}}
	for _, r := range b.records {
		out.States[r.stateAt(now)]++
	}
	type key struct{ day, costType, currency string }
	sums := map[key]entry{}
	for _, row := range b.rows {
		for _, e := range row.entries {
			k := key{facts.DayTime(row.fact.Day).Format(time.DateOnly), costTypes[row.pricing-1],
				strings.ToLower(isoCodes[e.currency])}
			t := sums[k]
			sums[k] = entry{records: t.records + e.records, sum: t.sum + e.sum}
		}
	}
	for k, t := range sums {
		out.Totals = append(out.Totals, Total{k.day, k.costType, k.currency, t.records, amountText(t.sum)})
	}
	slices.SortFunc(out.Totals, func(a, b Total) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.CostType, b.CostType),
			cmp.Compare(a.Currency, b.Currency))
	})
	return out
}

// Records lists every Cost ID that was taken, sorted.
func (s *Service) Records() []Record {
	b, now := s.costs, s.opts.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]Record, 0, len(b.records))
	for id, r := range b.records {
		rec := Record{CostType: costTypes[r.pricing-1], Currency: strings.ToLower(isoCodes[r.currency]),
			Amount: amountText(r.amount),
			CostID: id, Tag: r.tag, State: r.stateAt(now), Times: int(r.times), Replaced: int(r.replaced)}
		if r.row != 0 {
			rec.Day = facts.DayTime(b.rows[r.row].fact.Day).Format(time.DateOnly)
		}
		out = append(out, rec)
	}
	slices.SortFunc(out, func(a, b Record) int { return strings.Compare(a.CostID, b.CostID) })
	return out
}

// stateAt returns the name of a record's state at a time.
func (r keptRecord) stateAt(now time.Time) string {
	if r.state == pending && now.Sub(time.Unix(r.received, 0)) > window {
		return "expired"
	}
	return stateNames[r.state]
}

// Admin answers the admin calls about spend; known is false for other calls. If it returns no
// answer to a known call, it has answered it by itself.
func (s *Service) Admin(x *wire.Exchange, call string) (answer any, known bool) {
	switch call {
	case "GET spend":
		return s.Summary(), true
	case "GET spend-records":
		s.writeRecords(x)
		return nil, true
	default:
		return nil, false
	}
}

// writeRecords prints every kept record as CSV.
func (s *Service) writeRecords(x *wire.Exchange) {
	x.Header().Set("Content-Type", wire.CSV)
	w := csv.NewWriter(x)
	_ = w.Write([]string{"cost_id", "cost_type", "cost_currency", "cost_amount", "tag", "state", "day", "times",
		"replaced"})
	for _, r := range s.Records() {
		_ = w.Write([]string{r.CostID, r.CostType, r.Currency, r.Amount, r.Tag, r.State, r.Day, fmt.Sprint(r.Times),
			fmt.Sprint(r.Replaced)})
	}
	w.Flush() // a client that is gone needs no answer
}
