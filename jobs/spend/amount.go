package spend

import (
	"fmt"
	"strings"
)

const (
	mostDecimals = 5
	// mostDigits before the point. The service takes a float, which holds 15 to 17 digits in all.
	mostDigits = 12
)

// amount gives the one spelling of a plain decimal number, or the reason why it isn't taken. Digits are counted, never
// computed: a float would make 0.1 of many numbers that aren't.
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
	switch {
	case decimals != "":
		canonical = whole + "." + decimals
	default:
		canonical = whole
	}
	if canonical == s {
		return s, ""
	}
	return canonical, ""
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// units is a canonical amount in hundred-thousandths, the smallest that the service takes: whole numbers add up exactly.
func units(canonical string) int64 {
	whole, decimals, _ := strings.Cut(canonical, ".")
	var n int64
	for i := range len(whole) {
		n = n*10 + int64(whole[i]-'0')
	}
	for i := range mostDecimals {
		n *= 10
		if i < len(decimals) {
			n += int64(decimals[i] - '0')
		}
	}
	return n
}
