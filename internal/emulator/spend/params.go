package spend

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reportferry/reportferry/internal/emulator/reading"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// paramNames are the parameters of /cost, all of them required, in the order of params.
var paramNames = [...]string{"cost_type", "cost_currency", "cost_amount", "cost_id", "tag"}

// params are the values of paramNames, in their order, as they were sent.
type params [len(paramNames)]string

// costTypes are the values of cost_type; the place here, counted from 1, is facts.PayInstall and so
// on. Source: the service's help page on the ad spend endpoint.
var costTypes = []string{"cpi", "cpc", "cpm", "cpe"}

// record is one record of spend that was checked.
type record struct {
	pricing  uint8 // index in costTypes, counted from 1
	currency uint8 // index in isoCodes
	amount   int64 // in units of 0.00001 of the currency
	costID   string
	tag      string
}

const (
	amountDecimals = 5        // a unit is 0.00001: the service takes no more decimals
	amountDigits   = 9        // before the point: a guess that keeps sums far from overflow
	bodyLimit      = 64 << 10 // bytes
)

// parameters returns the query and the form of a request, or the one of them that the readings
// choose. refused says in fixed words why the form can't be read.
func (s *Service) parameters(r *http.Request) (sent []string, refused string) {
	from := s.opts.Readings.Of(reading.SpendParameters)
	if from != "form" {
		sent = append(sent, r.URL.RawQuery)
	}
	if from != "query" && wire.IsForm(r.Header.Get("Content-Type")) {
		body, err := io.ReadAll(io.LimitReader(r.Body, bodyLimit+1))
		if err != nil || len(body) > bodyLimit {
			return sent, "body: too long or cut"
		}
		sent = append(sent, string(body))
	}
	return sent, ""
}

// readRecord reads and checks the record that was sent. refused says in fixed words what is wrong
// with it.
func (s *Service) readRecord(method string, sent []string) (rec record, refused string) {
	if method != http.MethodPost {
		return rec, "method: not POST"
	}
	var v params
	for _, encoded := range sent {
		if refused = v.read(encoded); refused != "" {
			return rec, refused
		}
	}
	switch s.opts.Readings.Of(reading.SpendCase) {
	case "either":
		v[0], v[1] = strings.ToLower(v[0]), strings.ToLower(v[1])
	case "all":
		for i, value := range v {
			if strings.ToLower(value) != value {
				return rec, paramNames[i] + ": not in lower case"
			}
		}
	}
	return v.check()
}

// read sets those parameters from a query or a form that aren't set yet. So the query, which is
// read first, goes before the form, and a first value before others.
func (v *params) read(encoded string) (refused string) {
	for encoded != "" {
		var pair string
		pair, encoded, _ = strings.Cut(encoded, "&")
		name, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		if err != nil {
			return "encoding: a bad escape"
		}
		i := slices.Index(paramNames[:], name)
		if i < 0 || v[i] != "" {
			continue
		}
		if v[i], err = url.QueryUnescape(value); err != nil {
			return "encoding: a bad escape"
		}
	}
	return ""
}

// check returns the record of the parameters. refused says in fixed words what is wrong with them.
func (v *params) check() (rec record, refused string) {
	for i, value := range v {
		if value == "" {
			return rec, paramNames[i] + ": missing"
		}
		if !utf8.ValidString(value) {
			return rec, paramNames[i] + ": not UTF-8"
		}
	}
	pricing := slices.Index(costTypes, v[0]) + 1
	currency, known := isoNumber[v[1]]
	amount, ok := parseAmount(v[2])
	characters := utf8.RuneCountInString(v[3])
	switch {
	case pricing == 0:
		return rec, "cost_type: not cpc, cpi, cpe or cpm"
	case !known:
		return rec, "cost_currency: not an ISO 4217 code in lower case"
	case !ok:
		return rec, "cost_amount: not a number of at most 5 decimals"
	case characters < 12 || characters > 256:
		return rec, "cost_id: not 12 to 256 characters"
	case utf8.RuneCountInString(v[4]) > 128:
		return rec, "tag: more than 128 characters"
	}
	return record{pricing: uint8(pricing), currency: currency, amount: amount, costID: v[3], tag: v[4]}, ""
}

// values returns the record's parameters in their shortest form.
func (rec record) values() params {
	return params{costTypes[rec.pricing-1], strings.ToLower(isoCodes[rec.currency]), amountText(rec.amount), rec.costID,
		rec.tag}
}

// parseAmount reads a plain decimal: no sign, no exponent, no group of digits.
func parseAmount(s string) (int64, bool) {
	whole, fraction, point := strings.Cut(s, ".")
	if len(whole) == 0 || len(whole) > amountDigits || len(fraction) > amountDecimals || point && fraction == "" {
		return 0, false
	}
	n := int64(0)
	for i := range len(whole) + amountDecimals {
		digit := byte('0')
		if i < len(whole) {
			digit = whole[i]
		} else if j := i - len(whole); j < len(fraction) {
			digit = fraction[j]
		}
		if digit < '0' || digit > '9' {
			return 0, false
		}
		n = n*10 + int64(digit-'0')
	}
	return n, true
}

// amountText writes an amount without needless zeros.
func amountText(n int64) string {
	const unit = 100_000 // 10^amountDecimals
	if n%unit == 0 {
		return fmt.Sprint(n / unit)
	}
	return strings.TrimRight(fmt.Sprintf("%d.%05d", n/unit, n%unit), "0")
}
