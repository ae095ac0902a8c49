package spend

import (
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/emulator/facts"
)

// isoCodes are the currencies of ISO 4217's list one as of 2026, those of precious metals, units of
// account and tests left out: nobody pays for a click in them. Source:
// www.six-group.com/en/products-services/financial-information/data-standards.html
var isoCodes = strings.Fields(`
AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY COP CRC
CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR
ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK
MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE
SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED VES VND VUV WST XAF XCD XCG XOF
XPF YER ZAR ZMW ZWG`)

// isoNumber finds a code by its lower-case spelling, the only one that /cost takes.
var isoNumber = func() map[string]uint8 {
	numbers := map[string]uint8{}
	for i, code := range isoCodes {
		numbers[strings.ToLower(code)] = uint8(i)
	}
	return numbers
}()

// ratesByCode has the rate of each of isoCodes; Num is 0 where the emulator has none.
var ratesByCode = func() []facts.Rate {
	out := make([]facts.Rate, len(isoCodes))
	for _, r := range facts.Rates {
		out[slices.Index(isoCodes, r.Code)] = r
	}
	return out
}()
