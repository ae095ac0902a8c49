package shape

import (
	"strconv"

	"github.com/reportferry/reportferry/config/strict"
)

// Days reads a number of days such as 400d.
var Days = DaysAs(`^([1-9][0-9]{0,4})d$`, "a number of days from 1d to 99999d, such as 400d")

// DaysAs reads a number of days, of at most five digits, before the letter d.
func DaysAs(expr, title string) strict.Shape[int] {
	return strict.As(strict.Matching(strict.Expr(expr), title), func(_ *strict.Decoder, _ strict.Node, _,
		s string) (int, bool) {
		count, _ := strconv.Atoi(s[:len(s)-1]) // five digits at most
		return count, true
	})
}

// DaysField returns a key whose value is a number of days.
func DaysField(key string, to *int, example, doc string) strict.Field {
	return DaysFieldOf(Days, key, to, example, doc)
}

// DaysFieldOf does what DaysField does, with a shape that allows other numbers.
func DaysFieldOf(shape strict.Shape[int], key string, to *int, example, doc string) strict.Field {
	f := strict.Optional(key, shape, to, example, doc)
	f.Now = func() any {
		if *to <= 0 {
			return nil
		}
		return strconv.Itoa(*to) + "d"
	}
	return f
}
