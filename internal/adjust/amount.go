package adjust

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unsafe"
)

// An amount is a cell of a metric, or the exact sum of several.
type amount struct {
	text     string   // the first cell that isn't blank, as it came; the amount while total is nil
	total    *big.Rat // the sum, once a second such cell was added
	decimals int      // most decimals of a cell
	hasCell  bool     // a cell was added, blank or not
}

// amountSize is the bytes of an amount in memory.
const amountSize = int(unsafe.Sizeof(amount{}))

// add adds a cell. A cell that stands for no number, such as null, adds nothing.
func (a *amount) add(cell string) error {
	a.hasCell = true
	switch {
	case slices.Contains([]string{"", "null", "nan", "none", "-"}, strings.ToLower(cell)):
		return nil
	case a.text == "" && a.total == nil:
		a.text = cell
		return nil
	case a.total == nil:
		a.total = new(big.Rat)
		if err := a.addNumber(a.text); err != nil {
			return err
		}
	}
	return a.addNumber(cell)
}

// addNumber adds a cell to total.
func (a *amount) addNumber(cell string) error {
	_, err := strconv.ParseFloat(cell, 64) // an exponent beyond a double's would take all memory
	n, ok := new(big.Rat), err == nil
	if ok {
		_, ok = n.SetString(cell)
	}
	if !ok {
		return fmt.Errorf("%.80q is no number, and can't be added up over the hours of a day on which clocks change",
			cell)
	}
	if a.decimals = max(a.decimals, len(cell)-1-strings.Index(cell+".", ".")); strings.ContainsAny(cell, "eE") {
		digits, _ := n.FloatPrec()
		a.decimals = max(a.decimals, digits)
	}
	a.total.Add(a.total, n)
	return nil
}

// String returns the cell as it came, or the sum with as many decimals as its cells have at most.
func (a *amount) String() string {
	if a.total == nil {
		return a.text
	}
	return a.total.FloatString(a.decimals)
}
