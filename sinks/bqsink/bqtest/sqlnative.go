package bqtest

import (
	"database/sql/driver"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"

	"modernc.org/sqlite"
)

// What GoogleSQL can do and SQLite can't, as functions of the driver: exact NUMERIC, which is kept as text, divisions that
// fail by zero, and dates. They are registered before any connection can be opened, by whatever package of the process,
// because the driver's lists of them aren't guarded.
var _ = registerNatives()

func registerNatives() struct{} {
	sqlite.MustRegisterCollationUtf8("bq_numeric", func(a, b string) int { return ratOf(a).Cmp(ratOf(b)) })
	for name, f := range map[string]func([]driver.Value) (driver.Value, error){
		"bq_add":             numericOp((*big.Rat).Add),
		"bq_subtract":        numericOp((*big.Rat).Sub),
		"bq_multiply":        numericOp((*big.Rat).Mul),
		"bq_quotient":        numericOp(divide),
		"bq_divide":          floatDivide,
		"bq_round":           numericRound,
		"bq_to_numeric":      func(a []driver.Value) (driver.Value, error) { return toNumeric(a[0]) },
		"bq_date":            func(a []driver.Value) (driver.Value, error) { return parseDate(a[0]) },
		"bq_diff":            timeDiff,
		"bq_trunc":           timeTrunc,
		"bq_shift":           timeShift,
		"bq_extract":         timeExtract,
		"bq_format_date":     formatDate,
		"bq_parse_date":      readDate,
		"bq_safe_parse_date": readDateOrNull,
		"bq_like":            like,
		"bq_starts_with":     startsWith,
		"bq_regexp_contains": regexpContains,
	} {
		sqlite.MustRegisterFunction(name, &sqlite.FunctionImpl{NArgs: -1, Deterministic: true, Scalar: func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			for _, a := range args {
				if a == nil {
					return nil, nil // all of them are NULL when an operand is
				}
			}
			return f(args)
		}})
	}
	for name, mean := range map[string]bool{"bq_sum": false, "bq_avg": true} {
		sqlite.MustRegisterFunction(name, &sqlite.FunctionImpl{NArgs: 1, Deterministic: true, MakeAggregate: func(sqlite.FunctionContext) (sqlite.AggregateFunction, error) {
			return &numericSum{mean: mean}, nil
		}})
	}
	return struct{}{}
}

// ratOf reads what the store keeps of a NUMERIC.
func ratOf(v any) *big.Rat {
	r, ok := new(big.Rat).SetString(fmt.Sprint(v))
	if !ok {
		panic(fmt.Sprintf("%q among the values of a NUMERIC", v))
	}
	return r
}

func numericOp(op func(z, x, y *big.Rat) *big.Rat) func([]driver.Value) (driver.Value, error) {
	return func(a []driver.Value) (driver.Value, error) {
		y := ratOf(a[1])
		z := op(new(big.Rat), ratOf(a[0]), y)
		if z == nil {
			return nil, fmt.Errorf("division by zero: %v / %v", a[0], a[1])
		}
		return rounded(z, 9)
	}
}

func divide(z, x, y *big.Rat) *big.Rat {
	if y.Sign() == 0 {
		return nil
	}
	return z.Quo(x, y)
}

// rounded is r with so many digits, half away from zero as NUMERIC does.
func rounded(r *big.Rat, digits int) (driver.Value, error) {
	back, _ := new(big.Rat).SetString(r.FloatString(digits))
	return numericOf(back)
}

func floatDivide(a []driver.Value) (driver.Value, error) {
	x, _ := ratOrFloat(a[0])
	y, _ := ratOrFloat(a[1])
	if y == 0 {
		return nil, fmt.Errorf("division by zero: %v / %v", a[0], a[1])
	}
	return x / y, nil
}

func ratOrFloat(v driver.Value) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	}
	return ratOf(v).Float64()
}

func numericRound(a []driver.Value) (driver.Value, error) {
	digits, _ := a[1].(int64)
	if v, ok := a[0].(float64); ok {
		scale := math.Pow(10, float64(digits))
		return math.Round(v*scale) / scale, nil
	}
	return rounded(ratOf(a[0]), int(digits))
}

func toNumeric(v driver.Value) (driver.Value, error) {
	r, ok := new(big.Rat).SetString(fmt.Sprint(v))
	if !ok {
		return nil, fmt.Errorf("invalid NUMERIC value: %v", v)
	}
	return rounded(r, 9)
}

// numericSum is SUM or AVG of a NUMERIC column.
type numericSum struct {
	sum  big.Rat
	n    int64
	mean bool
}

func (s *numericSum) Step(_ *sqlite.FunctionContext, a []driver.Value) error {
	if a[0] != nil {
		s.sum.Add(&s.sum, ratOf(a[0]))
		s.n++
	}
	return nil
}

func (s *numericSum) WindowInverse(_ *sqlite.FunctionContext, a []driver.Value) error {
	if a[0] != nil {
		s.sum.Sub(&s.sum, ratOf(a[0]))
		s.n--
	}
	return nil
}

func (s *numericSum) WindowValue(*sqlite.FunctionContext) (driver.Value, error) {
	if s.n == 0 {
		return nil, nil
	}
	if s.mean {
		return rounded(new(big.Rat).Quo(&s.sum, new(big.Rat).SetInt64(s.n)), 9)
	}
	return numericOf(&s.sum)
}

func (s *numericSum) Final(*sqlite.FunctionContext) {}

// instant reads a DATE, DATETIME or TIMESTAMP as the store keeps it.
func instant(v driver.Value) (time.Time, error) {
	switch v := v.(type) {
	case int64:
		return time.UnixMicro(v).UTC(), nil
	case string:
		for _, layout := range []string{time.DateOnly, "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 UTC"} {
			if at, err := time.Parse(layout, v); err == nil { // a fraction of seconds is read without being asked for
				return at.UTC(), nil
			}
		}
	}
	return time.Time{}, fmt.Errorf("invalid date or time: %v", v)
}

func parseDate(v driver.Value) (driver.Value, error) {
	at, err := instant(v)
	if err != nil {
		return nil, err
	}
	return at.Format(time.DateOnly), nil
}

// sameKind gives an instant the type of the value that it was made from.
func sameKind(v driver.Value, at time.Time) driver.Value {
	text, ok := v.(string)
	switch {
	case !ok:
		return at.UnixMicro()
	case strings.ContainsAny(text, "T "):
		return at.Format("2006-01-02T15:04:05.999999")
	}
	return at.Format(time.DateOnly)
}
