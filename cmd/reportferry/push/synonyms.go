package push

import (
	"slices"
	"strings"
	"unicode"

	"github.com/reportferry/reportferry/internal/lazy"
)

// synonyms has the names that partners give to the fields of a record of spend, as foldName writes
// them, the clearest first. They come from exports in English, German and French.
var synonyms = map[string][]string{
	"cost_id": {
		"costid", "clickid", "impressionid", "engagementid", "clickidentifier", "clicktrackingid", "transactionid",
		"auctionid", "auctionid64", "bidid", "visitid",
		"gclid", "fbclid", "ttclid", "msclkid", "clickref", "trackingid",
		"klickid", "klickkennung", "impressionsid", "idclic", "idduclic", "clicid", "identifiantclic",
		"identifiantduclic", "identifiantdeclic",
	},
	"cost_type": {
		"costtype", "pricingmodel", "pricingtype", "costmodel", "billingtype", "billingmodel", "pricing", "bidtype",
		"type",
		"kostenart", "kostenmodell", "abrechnungsmodell", "abrechnungsart", "preismodell", "typedecout", "typecout",
		"modeledecout", "modeletarifaire", "modeledetarification",
	},
	"cost_currency": {
		"costcurrency", "currency", "currencycode", "spendcurrency", "billingcurrency", "accountcurrency",
		"isocurrency", "curr", "advertisercurrency", "buyercurrency", "advertisercurrencycode",
		"advertisercurrencycodeid",
		"wahrung", "waehrung", "wahrungscode", "waehrungscode", "devise", "codedevise", "monnaie",
	},
	"cost_amount": {
		"costamount", "cost", "costs", "spend", "adspend", "amount", "amountspent", "campaigncost", "campaignspend",
		"mediacost", "mediaspend", "totalcost", "totalspend", "netcost", "clickcost", "impressioncost", "costvalue",
		"advertisercost", "advertisercostinadvertisercurrency", "mediacostdollarscpm", "price", "clickprice",
		"pricepaid", "cpc", "cpm",
		"kosten", "ausgaben", "werbeausgaben", "werbekosten", "betrag", "ausgegebenerbetrag", "mediakosten",
		"kampagnenkosten", "gesamtkosten",
		"cout", "couts", "depense", "depenses", "montant", "montantdepense", "coutcampagne", "coutdelacampagne",
		"couttotal",
	},
	"tag": {"tag", "tags", "label", "etikett", "schlagwort", "etiquette", "libelle"},
	"engaged_at": {
		"engagedat", "clicktime", "clicktimestamp", "clickdatetime", "clickdate", "impressiontime", "engagementtime",
		"datetime", "timestamp", "eventtime", "eventtimestamp", "clickedat", "logentrytime", "eventcreatedon",
		"visittimestamp",
		"impressiontimestamp", "attributedtouchtime", "datereceived", "unixtimestamp", "time", "date",
		"klickzeit", "klickzeitpunkt", "klickdatum", "zeitpunkt", "datumuhrzeit", "datumzeit", "zeit", "datum",
		"heureduclic", "dateduclic", "dateheure", "dateetheure", "horodatage", "heure",
	},
}

// plainLetters replaces letters that have accents with plain ones.
var plainLetters = strings.NewReplacer("ä", "a", "à", "a", "â", "a", "á", "a", "é", "e", "è", "e", "ê", "e", "ë", "e",
	"î", "i", "ï", "i", "ô", "o", "ö", "o", "ó", "o",
	"û", "u", "ù", "u", "ü", "u", "ç", "c", "ß", "ss", "œ", "oe")

// foldName returns a name without what people write differently: capitals, blanks, signs and
// accents. Accents that are characters of their own, behind their letter, are dropped with the
// signs.
func foldName(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, plainLetters.Replace(strings.ToLower(name)))
}

// pricedNames finds the currency in names such as "Spend (USD)", "Cost in EUR" or "Kosten [€]".
var pricedNames = lazy.Regexp(`^(.*?)[\s_]*(?:\(|\[|\bin |_in_|,|/|-|_)\s*([A-Za-z]{3}|€|\$|£)\s*[)\]]?\s*$`)

// currencySigns maps the signs that stand for one currency to its code. A dollar sign isn't among
// them, because many countries have dollars.
var currencySigns = map[string]string{"€": "EUR", "£": "GBP"}

// rankOfName returns how clearly a column's name is that of a field: 0 is the clearest, -1 is not
// at all. It also returns the currency in the name of an amount, if there is one.
func rankOfName(field, name string, isCurrency func(string) bool) (rank int, currency string) {
	if foldName(name) == foldName(field) {
		return 0, ""
	}
	rank = slices.Index(synonyms[field], foldName(name))
	parts := pricedNames().FindStringSubmatch(name)
	if field != "cost_amount" || parts == nil {
		return rank, ""
	}
	if currency = strings.ToUpper(parts[2]); currencySigns[currency] != "" {
		currency = currencySigns[currency]
	}
	if !isCurrency(currency) {
		return rank, ""
	}
	return slices.Index(synonyms[field], foldName(parts[1])), currency
}
