package spend

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bojanz/currency"
)

const (
	mostDecimals = 5 // the most that the service takes
	// mostDigits is how many digits an amount may have before the point. The service takes a float,
	// which holds 15 to 17 digits in all.
	mostDigits = 12
)

// signs maps the signs of currencies, in small letters, to the currencies for which they may stand
// (Unicode CLDR's symbols and narrow symbols).
var signs = map[string]string{
	"$": "usd aud cad nzd mxn ars clp cop sgd hkd twd bbd bsd bmd bzd bnd kyd dop fjd gyd jmd lrd nad srd sbd ttd " +
		"xcd uyu",
	"us$": "usd", "a$": "aud", "au$": "aud", "c$": "cad", "ca$": "cad", "nz$": "nzd", "hk$": "hkd", "s$": "sgd",
	"nt$": "twd", "mx$": "mxn", "r$": "brl",
	"€": "eur", "£": "gbp egp fkp gip lbp sdg shp syp", "¥": "jpy cny", "￥": "jpy cny", "cn¥": "cny", "jp¥": "jpy",
	"円": "jpy", "元": "cny twd hkd",
	"₹": "inr", "rs": "inr pkr lkr npr mur", "rs.": "inr pkr lkr npr mur", "₩": "krw", "₽": "rub", "руб.": "rub",
	"₺": "try", "tl": "try", "₴": "uah", "₫": "vnd",
	"฿": "thb", "₱": "php cup", "₪": "ils", "₦": "ngn", "zł": "pln", "kč": "czk", "kr": "sek nok dkk isk",
	"kr.": "sek nok dkk isk", "ft": "huf", "lei": "ron mdl",
	"лв.": "bgn", "fr.": "chf", "sfr.": "chf", "rp": "idr", "rm": "myr", "r": "zar", "₡": "crc", "₲": "pyg", "₵": "ghs",
	"₸": "kzt", "₼": "azn", "₾": "gel",
}

// isSign reports whether a sign or a code may stand for the given currency (same), and whether it
// stands for any currency (known).
func isSign(sign, code string) (same, known bool) {
	sign = strings.ToLower(sign)
	codes := strings.Fields(signs[sign])
	if sign == "" {
		return false, false
	}
	return sign == code || slices.Contains(codes, code), len(codes) > 0 || currency.IsValid(strings.ToUpper(sign))
}

// amount returns the canonical spelling of a plain decimal number, or the reason why it is refused.
// It only counts digits, because by way of a float, many numbers that aren't 0.1 would become 0.1.
func amount(s string) (canonical, reason string) {
	if s == "" {
		return "", isMissing
	}
	digits, negative := strings.CutPrefix(s, "-")
	whole, decimals, _ := strings.Cut(digits, ".")
	if !allDigits(whole) || !allDigits(decimals) || len(whole)+len(decimals) == 0 {
		return "", "isn't a plain decimal number such as 1.25"
	}
	whole, decimals = strings.TrimLeft(whole, "0"), strings.TrimRight(decimals, "0")
	switch {
	case negative:
		return "", "is negative"
	case len(decimals) > mostDecimals:
		return "", fmt.Sprintf("has %d decimals; at most %d", len(decimals), mostDecimals)
	case len(whole) > mostDigits:
		return "", fmt.Sprintf("has %d digits before the point; at most %d", len(whole), mostDigits)
	case whole == "":
		whole = "0"
	}
	if decimals != "" {
		whole += "." + decimals
	}
	return whole, ""
}

// allDigits reports whether a text has no other characters than digits; it may be empty.
func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// units returns a canonical amount in hundred-thousandths, the smallest unit that the service
// takes. Such whole numbers add up exactly.
func units(canonical string) int64 {
	whole, decimals, _ := strings.Cut(canonical, ".")
	// The zeros fill up the decimals to mostDecimals. The whole has at most seventeen digits.
	n, _ := strconv.ParseInt(whole+decimals+"00000"[len(decimals):], 10, 64)
	return n
}
