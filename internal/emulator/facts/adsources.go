package facts

// AdSource is a platform that reports ad revenue: its display name, as ad_revenue_sources takes it,
// and the {src} of the per-source metrics.
type AdSource struct{ Name, Slug string }

// AdSources are the values of ad_revenue_sources; facts.ad_source is an index here. Names: the
// service's OpenAPI description; the slugs after publisher_sdk are guesses.
//
// A fact's ad revenue and ad impressions come from one source as a whole, so sources add up exactly
// to the total:
//
//   - ad_revenue_{src} is the row expression "(f.ad_source=N)*f.ad_revenue" with N the index. The
//     same factor goes before any other row expression of ad revenue or ad impressions, also those
//     of cohorts.
//   - Every row expression of ad impressions, and of ad revenue that isn't made of f.ad_revenue or
//     d.adpu, has a factor {ads}: 1, or under ad_revenue_sources 1 for the sources listed and 0 for
//     others. f.ad_revenue and d.adpu have that factor in them.
var AdSources = []AdSource{
	{"unknown", "unknown"}, {"IronSource", "ironsource"}, {"AppLovin Max", "applovin_max"}, {"MoPub", "mopub"},
	{"S2S Ad Revenue", "s2s"}, {"Admost", "admost"}, {"Admost SDK", "admost_sdk"}, {"AdMob", "admob"},
	{"IronSource SDK", "ironsource_sdk"}, {"Applovin MAX SDK", "applovin_max_sdk"},
	{"Applovin MAX FB only", "applovin_max_fb_only"},
	{"Facebook SDK", "facebook_sdk"}, {"Unity SDK", "unity_sdk"}, {"TopOn", "topon"}, {"Tapjoy", "tapjoy"},
	{"Helium by Chartboost SDK", "helium_by_chartboost_sdk"}, {"Publisher SDK", "publisher_sdk"},
	{"TopOn SDK", "topon_sdk"},
	{"ADX SDK", "adx_sdk"}, {"SDK Tradplus", "sdk_tradplus"}, {"API Tradplus", "api_tradplus"}, {"Fyber", "fyber"},
}

// adShares are the parts of an app's rows, in parts per million, of the six sources that it uses,
// largest first.
var adShares = [...]int{400_000, 250_000, 150_000, 100_000, 60_000, 40_000}

// adShare returns the part of an app's rows that a source brings, in parts per million.
func adShare(origin, source int) int {
	// 7 has no factor in common with 22 sources: the apps' six differ, and any dozen apps use them
	// all.
	rank := (source*7 + origin*5) % len(AdSources)
	if rank < len(adShares) {
		return adShares[rank]
	}
	return 0
}

// adSourceAt returns the source in whose share of an app's rows x lies, with 0 <= x < 1,000,000.
func adSourceAt(origin, x int) int {
	for n := range AdSources {
		if x -= adShare(origin, n); x < 0 {
			return n
		}
	}
	return 0 // not reached: the shares add up to a million
}
