package report

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// osNames are the values of os_names. Source: the service's OpenAPI description.
var osNames = []string{"android", "android-tv", "apple-tv", "bada", "blackberry", "fire-tv", "ios", "linux", "macos",
	"nintendo",
	"playstation", "roku-os", "server", "smart-cast", "steamos", "symbian", "tizen", "unknown", "webos", "windows",
	"windows-phone", "xbox"}

// attributionTypes are the values of attribution_types; facts.engagement is the place here, counted
// from 1.
var attributionTypes = []string{facts.EngagementClick - 1: "click", facts.EngagementImpression - 1: "impression",
	facts.EngagementAd - 1: "engaged_ad"}

// mode is a parameter of fixed values.
type mode struct {
	name   string
	values string // a comma list: the first value is the default, and their case doesn't matter
}

// modes are the parameters of fixed values. Source: the service's reference and its OpenAPI
// description.
var modes = []mode{
	{"cohort_maturity", "immature,mature,fully_mature"},
	{"attribution_type", "all,click,impression"},
	{"assisting_attribution_type", "all,click,impression"},
	{"attribution_source", "dynamic,first"},
	{"reattributed", "all,true,false"},
	{"iap_revenue_mode", "GROSS_100,GROSS_95,GROSS_85,GROSS_80,GROSS_70,GROSS_65,GROSS_60,GROSS_50"},
	{"ad_spend_mode", "adjust,network,mixed"},
}

// readModes reads the parameters that choose among ways of counting.
func (q *request) readModes(v url.Values) (err *wire.Error) {
	chosen := map[string]string{}
	if v.Get("ad_spend_mode") == "" && v.Has("cost_mode") {
		v = maps.Clone(v)
		v["ad_spend_mode"] = v["cost_mode"]
	}
	for _, m := range modes {
		if chosen[m.name], err = m.read(v); err != nil {
			return err
		}
	}
	q.Maturity, q.Reattributed, q.SpendMode = chosen["cohort_maturity"], chosen["reattributed"], chosen["ad_spend_mode"]
	q.FirstSource = chosen["attribution_source"] == "first"
	q.IAPPercent, _ = strconv.Atoi(strings.TrimPrefix(chosen["iap_revenue_mode"], "GROSS_")) // a value of modes
	if q.Sandbox, err = boolParam(v, "sandbox", false); err != nil {
		return err
	}
	if q.AdSources, err = readAdSources(v.Get("ad_revenue_sources")); err != nil {
		return err
	}
	return q.readEngagements(v.Get("attribution_types"), chosen["attribution_type"])
}

// readEngagements reads attribution_types, which is list. older is attribution_type, its older
// form, which counts when list is empty.
func (q *request) readEngagements(list, older string) *wire.Error {
	types := splitList(strings.ToLower(list))
	if len(types) == 0 && older != "all" {
		types = []string{older}
	}
	for _, t := range types {
		n := slices.Index(attributionTypes, t)
		if n < 0 {
			return wire.BadRequest("attribution_types: %q is not one of %s", t, strings.Join(attributionTypes, ", "))
		}
		q.Engagements = append(q.Engagements, n+1)
	}
	return nil
}

// read returns the parameter's value as the table spells it.
func (m mode) read(v url.Values) (string, *wire.Error) {
	values := strings.Split(m.values, ",")
	got := v.Get(m.name)
	if got == "" {
		return values[0], nil
	}
	for _, value := range values {
		if strings.EqualFold(value, got) {
			return value, nil
		}
	}
	return "", wire.BadRequest("%s: %q is not one of %s", m.name, got, strings.Join(values, ", "))
}

// readAdSources reads ad_revenue_sources as indexes, ascending; nil is all.
func readAdSources(list string) ([]int, *wire.Error) {
	var out []int
	for _, want := range splitList(list) {
		n := slices.IndexFunc(facts.AdSources, func(s facts.AdSource) bool {
			return strings.EqualFold(s.Name, want) ||
				strings.EqualFold(s.Slug, want)
		})
		if n < 0 {
			return nil, wire.BadRequest("ad_revenue_sources: %q is not a known source such as AdMob or \"Unity SDK\"",
				want)
		}
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, nil
}
