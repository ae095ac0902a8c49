package emulator

import (
	"net/url"
	"slices"
	"strings"
)

// osNames are the values of os_names. Source: the service's OpenAPI description.
var osNames = []string{"android", "android-tv", "apple-tv", "bada", "blackberry", "fire-tv", "ios", "linux", "macos", "nintendo",
	"playstation", "roku-os", "server", "smart-cast", "steamos", "symbian", "tizen", "unknown", "webos", "windows", "windows-phone", "xbox"}

// mode is an enumerated parameter: its values, and which of them this emulator serves.
type mode struct {
	name, values string // comma lists; matching is case-insensitive
	served       string
}

var modes = []mode{
	{"cohort_maturity", "immature,mature,fully_mature", "immature"},
	{"attribution_source", "dynamic,first", "dynamic"},
	{"reattributed", "all,true,false", "all"},
	{"iap_revenue_mode", "GROSS_100,GROSS_95,GROSS_85,GROSS_80,GROSS_70,GROSS_65,GROSS_60,GROSS_50", "GROSS_100"},
	{"ad_spend_mode", "adjust,network,mixed", "adjust,network,mixed"},
	{"sandbox", "true,false", "false"},
}

var attributionTypes = []string{"click", "engaged_ad", "impression"}

// checkModes refuses values that mean nothing, and those whose effect isn't built.
func checkModes(v url.Values) *serviceError {
	for _, m := range modes {
		value := v.Get(m.name)
		switch {
		case value == "":
		case !listed(m.values, value):
			return badRequest("%s: %q is not one of %s", m.name, value, strings.ReplaceAll(m.values, ",", ", "))
		case !listed(m.served, value):
			return notYet("%s=%s", m.name, value)
		}
	}
	types := splitList(strings.ToLower(v.Get("attribution_types")))
	for _, t := range types {
		if !slices.Contains(attributionTypes, t) {
			return badRequest("attribution_types: %q is not one of %s", t, strings.Join(attributionTypes, ", "))
		}
	}
	if len(types) > 0 && len(types) < len(attributionTypes) {
		return notYet("attribution_types=%s", strings.Join(types, ","))
	}
	return nil
}

func listed(list, value string) bool {
	return slices.ContainsFunc(strings.Split(list, ","), func(s string) bool { return strings.EqualFold(s, value) })
}
