package store

import "math/big"

// Sum is the number and the total amount of the records that were accepted under one key.
type Sum struct {
	Records int64    `json:"records"`
	Amount  *big.Int `json:"amount"`
}

// addSum adds records and their amount under a key.
func addSum(sums map[string]Sum, key string, records int64, amount *big.Int) {
	old := sums[key]
	sum := Sum{old.Records + records, new(big.Int)} // a new number, because the old one may be shared with a File
	for _, part := range []*big.Int{old.Amount, amount} {
		if part != nil {
			sum.Amount.Add(sum.Amount, part)
		}
	}
	sums[key] = sum
}

// TallyUp adds one record under a key.
func TallyUp(sums map[string]Sum, key string, amount int64) {
	sum := sums[key]
	if sum.Amount == nil {
		sum.Amount = new(big.Int)
	}
	sum.Records++
	sum.Amount.Add(sum.Amount, big.NewInt(amount))
	sums[key] = sum
}
