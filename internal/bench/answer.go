package bench

import (
	"io"
	"math/rand/v2"
	"strconv"
)

// An Answer is the CSV text of an answer, generated while it is read. The same shape and seed give
// the same text.
//
// Counts are spread over powers of two like those of campaigns, from none to a hundred thousand;
// clicks depend on impressions, and installs on clicks. Money has two to four decimals, or ".0", as
// the service prints floats. A ratio has all the digits of a double. A cohort's metrics are blank
// while it is too young.
type Answer struct {
	shape  Shape
	random *rand.Rand
	row    int64  // index of the next row
	rest   []byte // what is left to read of the last row
	buffer []byte
}

// NewAnswer returns an answer from its beginning, the header.
func NewAnswer(s Shape, seed uint64) *Answer {
	a := &Answer{shape: s, random: rand.New(rand.NewPCG(seed, 1))}
	for i, c := range s.Columns() {
		if i > 0 {
			a.buffer = append(a.buffer, ',')
		}
		a.buffer = append(a.buffer, c.Name...)
	}
	a.buffer = append(a.buffer, '\n')
	a.rest = a.buffer
	return a
}

// Read generates rows; after the last one it returns io.EOF.
func (a *Answer) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		if len(a.rest) == 0 {
			if a.row == a.shape.Rows {
				break
			}
			a.buffer = a.next(a.buffer[:0])
			a.rest = a.buffer
			a.row++
		}
		k := copy(p[n:], a.rest)
		n, a.rest = n+k, a.rest[k:]
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Values of the columns partner_name, country_code and os_name, quoted as CSV needs it.
var (
	partners = []string{"Organic", "Google Ads ACI", `"Meta, Inc. ""Installs"""`, "AppLovin", "Unity Ads",
		`"Mintegral, 汇量"`, "TikTok for Business", "Apple Search Ads"}
	countries = []string{"us", "de", "fr", "jp", "br", "in", "kr", "gb", "mx", "id", "tr", "it", "es", "ca", "au", "pl",
		"vn", "th", "ar", "unknown"}
	systems = []string{"android", "ios", "android", "ios", "unknown"}
)

// next appends one row.
func (a *Answer) next(b []byte) []byte {
	r := a.random
	day := a.row * days / a.shape.Rows
	if a.shape.Shuffled {
		day = int64(r.IntN(days))
	}
	campaign := r.IntN(a.shape.Campaigns)
	app := campaign % 12
	b = append(b, "2026-03-0"...)
	b = append(b, byte('1'+day))
	b = append(b, ",App "...)
	b = strconv.AppendInt(b, int64(app), 10)
	b = append(b, ",tok"...)
	b = strconv.AppendInt(b, int64(app)*7919+100000000, 10)
	b = append(b, ',')
	b = append(b, partners[campaign%len(partners)]...)
	b = append(b, ",UA_Campaign_"...)
	b = strconv.AppendInt(b, int64(campaign), 10)
	b = append(b, "_ROAS,"...)
	b = strconv.AppendInt(b, int64(campaign)*1234567+20000000000, 10)
	b = append(b, ',')
	// The smaller of two random numbers makes the first countries, the largest markets, the most
	// frequent.
	b = append(b, countries[min(r.IntN(len(countries)), r.IntN(len(countries)))]...)
	b = append(b, ',')
	b = append(b, systems[r.IntN(len(systems))]...)
	return append(a.metrics(b, int(day)), '\n')
}

// metrics appends the cells of a row's metrics.
func (a *Answer) metrics(b []byte, day int) []byte {
	r := a.random
	impressions := r.IntN(1 << r.IntN(18))
	clicks := impressions * r.IntN(80) / 1000
	installs := clicks * r.IntN(30) / 100
	sessions := installs*r.IntN(8) + r.IntN(1<<r.IntN(12))
	for _, n := range [...]int{impressions, clicks, installs, sessions, sessions * r.IntN(100) / 100} {
		b = append(b, ',')
		b = strconv.AppendInt(b, int64(n), 10)
	}
	cents := clicks * (5 + r.IntN(200))
	b = money(append(b, ','), int64(cents), 2)
	b = money(append(b, ','), int64(cents)*int64(r.IntN(2)), 2)
	b = money(append(b, ','), int64(installs)*int64(r.IntN(80_000)), 4)
	b = ratio(append(b, ','), r.IntN(installs+1), installs)
	for d := range a.shape.Cohorts / 3 {
		if d > 16-day { // the cohort is too young
			b = append(b, ",,,"...)
			continue
		}
		users := r.IntN(installs/(d+1) + 1)
		b = strconv.AppendInt(append(b, ','), int64(users), 10)
		b = money(append(b, ','), int64(users)*int64(r.IntN(3000)), 2)
		b = ratio(append(b, ','), users, installs)
	}
	return b
}

// money appends n/10^decimals as the service prints a float.
func money(b []byte, n int64, decimals int) []byte {
	if n == 0 {
		return append(b, "0.0"...)
	}
	scale := 1.0
	for range decimals {
		scale *= 10
	}
	from := len(b)
	b = strconv.AppendFloat(b, float64(n)/scale, 'f', -1, 64)
	for _, c := range b[from:] {
		if c == '.' {
			return b
		}
	}
	return append(b, ".0"...)
}

// ratio appends part/of as the service prints a float.
func ratio(b []byte, part, of int) []byte {
	switch {
	case of == 0, part == 0:
		return append(b, "0.0"...)
	case part == of:
		return append(b, "1.0"...)
	}
	return strconv.AppendFloat(b, float64(part)/float64(of), 'f', -1, 64)
}
