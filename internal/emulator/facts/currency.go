package facts

// Rate converts US dollars to a currency: amount = amount_usd * Num / Den.
type Rate struct {
	Num, Den   int
	Code, Name string
}

// Rates is a fixed table, near the market of 2026 and exact in two small integers.
var Rates = []Rate{
	{1, 1, "USD", "US Dollar"}, {92, 100, "EUR", "Euro"}, {79, 100, "GBP", "British Pound"},
	{150, 1, "JPY", "Japanese Yen"},
	{72, 10, "CNY", "Chinese Yuan"}, {1350, 1, "KRW", "South Korean Won"}, {83, 1, "INR", "Indian Rupee"},
	{5, 1, "BRL", "Brazilian Real"}, {32, 1, "TRY", "Turkish Lira"}, {17, 1, "MXN", "Mexican Peso"},
	{136, 100, "CAD", "Canadian Dollar"}, {152, 100, "AUD", "Australian Dollar"},
	{165, 100, "NZD", "New Zealand Dollar"},
	{9, 10, "CHF", "Swiss Franc"}, {104, 10, "SEK", "Swedish Krona"}, {106, 10, "NOK", "Norwegian Krone"},
	{69, 10, "DKK", "Danish Krone"}, {4, 1, "PLN", "Polish Zloty"}, {23, 1, "CZK", "Czech Koruna"},
	{360, 1, "HUF", "Hungarian Forint"}, {46, 10, "RON", "Romanian Leu"}, {92, 1, "RUB", "Russian Ruble"},
	{39, 1, "UAH", "Ukrainian Hryvnia"}, {37, 10, "ILS", "Israeli New Shekel"}, {367, 100, "AED", "UAE Dirham"},
	{375, 100, "SAR", "Saudi Riyal"}, {31, 100, "KWD", "Kuwaiti Dinar"}, {48, 1, "EGP", "Egyptian Pound"},
	{185, 10, "ZAR", "South African Rand"}, {1500, 1, "NGN", "Nigerian Naira"}, {16_000, 1, "IDR", "Indonesian Rupiah"},
	{36, 1, "THB", "Thai Baht"}, {25_000, 1, "VND", "Vietnamese Dong"}, {57, 1, "PHP", "Philippine Peso"},
	{47, 10, "MYR", "Malaysian Ringgit"}, {135, 100, "SGD", "Singapore Dollar"}, {78, 10, "HKD", "Hong Kong Dollar"},
	{32, 1, "TWD", "New Taiwan Dollar"}, {900, 1, "ARS", "Argentine Peso"}, {940, 1, "CLP", "Chilean Peso"},
	{3900, 1, "COP", "Colombian Peso"}, {37, 10, "PEN", "Peruvian Sol"},
}

// Label returns the currency as the dimension shows it.
func (r Rate) Label(dimension string) string {
	if dimension == "currency_code" {
		return r.Code
	}
	return r.Name
}
