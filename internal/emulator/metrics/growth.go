package metrics

import (
	"fmt"
	"slices"
	"strings"
)

// CohortBase is a quantity that a cohort accumulates with age. A fact's installs bring Amount in
// the end (micros of USD for money, millionths of a thing otherwise). By the end of day a they have
// brought Amount*(a+1)/(a+1+Half): half of it after about Half days. It never falls with age
// because every step is monotone, roundings included.
type CohortBase struct {
	Slug   string
	Kind   Kind
	Amount string // SQL
	Half   int    // days
	Salt   int    // what multiplies a fact's salt before rounding, like factor of share; unused for money
}

// cohortBases are what the cohorts of all apps accumulate.
var cohortBases = slices.Concat([]CohortBase{
	{"revenue", Money, "f.installs*d.arpu", 9, 0},
	{"ad_revenue", Money, "f.installs*d.adpu", 4, 0},
	{"ad_impressions", Count, "{ads}*f.installs*7000000", 4, 61},
	{"revenue_events", Count, "f.installs*d.retention*2500", 9, 67},
	{"non_install_sessions", Count, "f.installs*d.retention*90000", 11, 71},
	{"time_spent", Seconds, "f.installs*d.retention*21000000", 11, 73},
	{"reattributions", Count, "f.installs*80000", 25, 79},
	{"deattributions", Count, "f.installs*60000", 30, 83},
	{"uninstalls", Count, "f.installs*550000", 15, 89},
	{"first_uninstalls", Count, "f.installs*480000", 15, 89},
	{"reinstalls", Count, "f.installs*130000", 21, 97},
	{"first_reinstalls", Count, "f.installs*110000", 21, 97},
	{"gdpr_forgets", Count, "f.installs*4000", 40, 101},
	{"first_paying_users", Count, "f.installs*d.retention*900", 7, 103},
}, subscriptionBases)

// retained is SQL for the users active within a period that begins {start} days after the install.
// A user is active N days after it with probability 1.3/(3+N), times the slice's retention if N
// isn't 0.
const retained = "(CASE WHEN {start}=0 THEN f.installs ELSE " +
	"min(f.installs,(f.installs*d.retention*(1300000/(3+{start}))/100+f.salt)/1000000) END)"

// BaseOf finds a quantity that cohorts accumulate by its slug, for code that evaluates row
// expressions without SQL; nil when there is none.
func BaseOf(slug string) *CohortBase {
	for _, list := range [][]CohortBase{cohortBases, eventBases} {
		if i := slices.IndexFunc(list, func(b CohortBase) bool { return b.Slug == slug }); i >= 0 {
			return &list[i]
		}
	}
	return nil
}

// expandCohorts replaces {until_end:x}, {until_now:x} and {inside:x}: what a fact's cohort has
// accumulated of base x by the end of the period, until now, and between the period's first and
// last day. A cohort is never ahead of its age.
func expandCohorts(row string, p CohortPeriod) string {
	var out []string
	for _, list := range [][]CohortBase{cohortBases, eventBases} {
		for _, b := range list {
			if !strings.Contains(row, ":"+b.Slug+"}") {
				continue // most rows have one of them, or none
			}
			end := b.until(fmt.Sprintf("min(%d,{age})", p.End))
			inside := end
			if p.start > 0 {
				inside = "(" + end + "-" + b.until(fmt.Sprintf("min(%d,{age})", p.start-1)) + ")"
			}
			out = append(out, "{until_end:"+b.Slug+"}", end, "{until_now:"+b.Slug+"}", b.until("{age}"),
				"{inside:"+b.Slug+"}", inside)
		}
	}
	return strings.NewReplacer(out...).Replace(row)
}

// until returns SQL for what has come by the end of day age of a cohort.
func (b CohortBase) until(age string) string {
	grown := fmt.Sprintf("%s*(%s+1)/(%s+%d)", b.Amount, age, age, b.Half+1)
	if b.Kind == Money {
		return "(" + grown + ")"
	}
	return fmt.Sprintf("((%s+(f.salt*%d)%%1000000)/1000000)", grown, b.Salt)
}
