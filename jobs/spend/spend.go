// Package spend pushes a partner's files of ad spend through the service's cost endpoint. Without
// it, each record would be sent by a script that doesn't know what it has sent: a crash would lose
// spend or count it twice.
//
//	file ─ files.Row ─ checker ─ Cost ─ outbox.Record (by a hash of the Cost ID) ─ adjust.Spend ─ POST /cost
//	                      └ files.Refusal: the rejects file
//
// A [Kind] plans one unit for its table, with all files that are due. Rows with the same Cost ID
// are one record, which is sent once, even if it is in several files. Other content under the same
// ID is a conflict. The README beside this file has an example.
package spend

import (
	"crypto/sha256"
	"time"

	"github.com/cespare/xxhash/v2"
)

// A Cost is one record of spend. It was checked, and each value has its canonical spelling.
type Cost struct {
	Type     string // cpc, cpi, cpe or cpm
	Currency string // code of ISO 4217, in small letters
	Amount   string // decimal without sign, exponent or needless zeros, at most five decimals
	CostID   string // 12 to 256 characters; it identifies a person's click, so no log and no error may contain it
	Tag      string // at most 128 characters

	Engaged time.Time // time of the click or impression; zero: the file doesn't say
}

// Late is how long after an engagement the service still takes its spend.
const Late = 7 * 24 * time.Hour

// Expired reports whether the engagement is now too old for the service.
func (r Cost) Expired(now time.Time) bool {
	return !r.Engaged.IsZero() && now.Sub(r.Engaged) > Late
}

// ID returns an ID of the engagement for which the spend is, the same in all files. It is half a
// SHA-256, because a partner chooses the Cost IDs, and two with the same hash would silently drop
// spend.
func (r Cost) ID() (id [16]byte) {
	sum := sha256.Sum256([]byte(r.CostID))
	copy(id[:], sum[:])
	return id
}

// Content returns a hash of what is sent beside the Cost ID. Records that differ only in spelling
// have the same hash.
func (r Cost) Content() uint64 {
	var room [256]byte
	b := room[:0]
	for _, s := range [...]string{r.Type, r.Currency, r.Amount, r.Tag} {
		b = append(append(b, s...), 0) // no value holds a NUL
	}
	return xxhash.Sum64(b)
}

// A field is the index of a value in a row.
type field int

const (
	costID field = iota
	costType
	costCurrency
	costAmount
	tag
	engagedAt
	fields // the number of fields
)

// names are the fields' names in a config and, except for engaged_at, in the service's interface.
var names = [fields]string{"cost_id", "cost_type", "cost_currency", "cost_amount", "tag", "engaged_at"}

// values are the values of one row, as the file spells them.
type values [fields]string
