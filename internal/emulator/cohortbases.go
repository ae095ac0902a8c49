package emulator

import "slices"

// cohortBase is a quantity that a cohort accumulates with age. A fact's installs bring amount in the end (micros of USD
// for money, millionths of a thing otherwise) and have brought amount*(a+1)/(a+1+half) of it at the end of day a: half of
// it after about half days. It never falls with age because every step is monotone, roundings included.
type cohortBase struct {
	slug   string
	kind   kind
	amount string
	half   int
	salt   int
}

var cohortBases = slices.Concat([]cohortBase{
	{"revenue", money, "f.installs*d.arpu", 9, 0},
	{"ad_revenue", money, "f.installs*d.adpu", 4, 0},
	{"ad_impressions", count, "{ads}*f.installs*7000000", 4, 61},
	{"revenue_events", count, "f.installs*d.retention*2500", 9, 67},
	{"non_install_sessions", count, "f.installs*d.retention*90000", 11, 71},
	{"time_spent", seconds, "f.installs*d.retention*21000000", 11, 73},
	{"reattributions", count, "f.installs*80000", 25, 79},
	{"deattributions", count, "f.installs*60000", 30, 83},
	{"uninstalls", count, "f.installs*550000", 15, 89},
	{"first_uninstalls", count, "f.installs*480000", 15, 89},
	{"reinstalls", count, "f.installs*130000", 21, 97},
	{"first_reinstalls", count, "f.installs*110000", 21, 97},
	{"gdpr_forgets", count, "f.installs*4000", 40, 101},
	{"first_paying_users", count, "f.installs*d.retention*900", 7, 103},
}, subscriptionBases)

// retained are the users active within a period that begins {start} days after the install. A user is active N days
// after it with probability 1.3/(3+N), times the slice's retention for N > 0.
const retained = "(CASE WHEN {start}=0 THEN f.installs ELSE min(f.installs,(f.installs*d.retention*(1300000/(3+{start}))/100+f.salt)/1000000) END)"
