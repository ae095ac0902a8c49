package table

import (
	"fmt"
	"math/bits"

	"github.com/cespare/xxhash/v2"
)

// The primes of XXH64 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md).
const (
	prime1 = 0x9E3779B185EBCA87
	prime2 = 0xC2B2AE3D27D4EB4F
	prime3 = 0x165667B19E3779F9
	prime4 = 0x85EBCA77C2B2AE63
	prime5 = 0x27D4EB2F165667C5
)

// hashValue adds a value to the hash h of its row. For a given h it is a bijection of the value,
// and the other way round, so that two rows that differ in exactly one number never have the same
// hash.
func hashValue(h, value uint64) uint64 {
	h ^= bits.RotateLeft64(value*prime2, 31) * prime1
	return bits.RotateLeft64(h, 27)*prime1 + prime4
}

// hashNull adds a NULL to the hash of its row. It is a function of its own, so that NULL isn't the
// hash of any value.
func hashNull(h uint64) uint64 { return bits.RotateLeft64(h^prime5, 29)*prime2 + prime3 }

// hashText returns the hash of a text, which stands for its value.
func hashText(text []byte) uint64 { return xxhash.Sum64(text) }

// seed returns the hash of a row before its first cell. It is made from the names and types of the
// columns, so that the same values in other columns are another content. Stamps aren't content.
func seed(columns []Column) uint64 {
	d := xxhash.New()
	for _, c := range content(columns) {
		_, _ = fmt.Fprintf(d, "%q %s\n", c.Name, c.Type) // writing to a digest can't fail
	}
	return d.Sum64()
}

// digest is the content hash of rows: their number, and two sums of their hashes. A sum is the same
// in any order of the rows, and, unlike an exclusive or, another one when a row is repeated. Each
// sum mixes the hashes in its own way, so that changes that cancel out in one don't in the other.
type digest struct {
	first, second uint64
	rows          int64
}

// add adds a row by its hash.
func (d *digest) add(h uint64) {
	d.first += mix(h, prime2, prime3)
	d.second += mix(h^prime5, prime4, prime1)
	d.rows++
}

// mix spreads every bit of h over the whole word, as the last step of XXH64 does.
func mix(h, p, q uint64) uint64 {
	h ^= h >> 33
	h *= p
	h ^= h >> 29
	h *= q
	h ^= h >> 32
	return h
}

// String returns the hash as Part.Hash has it.
func (d *digest) String() string {
	return fmt.Sprintf("%016x%016x%016x", d.first, d.second, uint64(d.rows))
}
