// Package spend pushes a partner's files of ad spend through the service's cost endpoint. Without
// it, each record would be sent by a script that doesn't know what it has sent: a crash would lose
// spend or count it twice.
//
//	file ─ files.Row ─ checker ─ Cost ─ outbox.Record (by a hash of the Cost ID) ─ adjust.Spend ─ POST /cost
//	                      └ files.Refusal: the rejects file
//
// A [Kind] plans one unit for its table, with all files that are due. Rows of one Cost ID are one
// record, which is sent once, in this file and in others; other content under the same ID is a
// conflict. The README beside this file has an example.
package spend

import (
	"crypto/sha256"
	"time"

	"github.com/cespare/xxhash/v2"
)

// A Cost is one record of spend: checked, each value in its one spelling.
type Cost struct {
	Type     string // cpc, cpi, cpe or cpm
	Currency string // code of ISO 4217, in small letters
	Amount   string // decimal without sign, exponent or needless zeros, at most five decimals
	CostID   string // 12 to 256 characters; it stands for a person's click, so no log and no error may hold it
	Tag      string // at most 128 characters

	Engaged time.Time // of the click or impression; zero: the file doesn't say
}

// Late is how long after an engagement the service takes its spend.
const Late = 7 * 24 * time.Hour

// Expired tells whether the engagement is too old for the service by now.
func (r Cost) Expired(now time.Time) bool {
	return !r.Engaged.IsZero() && now.Sub(r.Engaged) > Late
}

// ID identifies the engagement that the spend is of, in this file and in others. It is half a
// SHA-256: a partner chooses the Cost IDs, and two that met would drop spend without a word.
func (r Cost) ID() (id [16]byte) {
	sum := sha256.Sum256([]byte(r.CostID))
	copy(id[:], sum[:])
	return id
}

// Content is a hash of what is sent beside the Cost ID. Records that differ in spelling alone have
// the same.
func (r Cost) Content() uint64 {
	var room [256]byte
	b := room[:0]
	for _, s := range [...]string{r.Type, r.Currency, r.Amount, r.Tag} {
		b = append(append(b, s...), 0) // no value holds a NUL
	}
	return xxhash.Sum64(b)
}

// A field is one value of a record, by its place in a row.
type field int

const (
	costID field = iota
	costType
	costCurrency
	costAmount
	tag
	engagedAt
	fields // how many there are
)

// names are the fields' names in a config and, but for engaged_at, in the service's interface.
var names = [fields]string{"cost_id", "cost_type", "cost_currency", "cost_amount", "tag", "engaged_at"}

// values are those of one row, as the file spells them.
type values [fields]string
