package push

import (
	"slices"
)

// columnsOfSums has the names of columns in reports of sums, as foldName writes them: first
// periods, then what is bought, then counts.
var columnsOfSums = [3][]string{
	{"day", "date", "reportdate", "gregoriandate", "timeperiod", "reportingstarts", "reportingends", "datestart",
		"datestop", "byday", "stattimeday", "starttime", "endtime", "week", "month", "hour",
		"tag", "datum", "tagesdatum", "jour", "auswertungsbeginn", "auswertungsende", "debutdesrapports",
		"findesrapports"},
	{"campaign", "campaignname", "campaignid", "adgroup", "adgroupname", "adgroupid", "adset", "adsetname", "adsetid",
		"ad", "adname", "adid", "account", "accountname", "accountnumber", "keyword",
		"kampagne", "kampagnenname", "anzeigengruppe", "anzeigengruppenname", "campagne", "nomdelacampagne",
		"adsquadname"},
	{"impressions", "impr", "clicks", "taps", "swipes", "swipeups", "installs", "conversions", "reach", "ctr", "ctrall",
		"avgcpc", "averagecpc", "avgcpt", "linkclicks", "results", "paidimpressions", "installstotal", "tapinstalls",
		"impressionen", "klicks", "clics", "reichweite", "couverture", "resultate", "resultats"},
}

// knownColumns returns how many cells of a row are known names of columns.
func knownColumns(row []string) (n int) {
	for _, cell := range row {
		name := foldName(cell)
		known := func(list []string) bool { return slices.Contains(list, name) }
		is := slices.ContainsFunc(columnsOfSums[:], known)
		for field := range synonyms {
			rank, _ := rankOfName(field, cell, func(string) bool { return true })
			is = is || rank >= 0
		}
		if is {
			n++
		}
	}
	return n
}

// findSums tells whether the file has sums by period, by campaign or by whatever else is bought, as
// platforms report them: it has columns of at least two of the lists in columnsOfSums. by names the
// columns that it sums by, for a message.
func (f *spendFile) findSums() (by string, has bool) {
	var columns []string // one for each list
	for _, list := range columnsOfSums {
		if at := slices.IndexFunc(f.Names, func(column string) bool {
			return slices.Contains(list,
				foldName(column))
		}); at >= 0 {
			columns = append(columns, f.Names[at])
		}
	}
	if len(columns) < 2 {
		return "", false
	}
	if len(columns) == len(columnsOfSums) || !slices.Contains(columnsOfSums[2], foldName(columns[1])) {
		return columns[0] + " and " + columns[1], true
	}
	return columns[0], true
}
