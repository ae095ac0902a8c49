package report

// What the tests of this package draw from, and expect.
type FilterItem = filterItem

var (
	AppendReal       = appendReal
	AttributionTypes = attributionTypes
	DimensionOps     = dimensionOps
	FilterLists      = filterLists
	MonthsBefore     = monthsBefore
	OSNames          = osNames
	SectionSlug      = sectionSlug
	Sections         = sections
	SplitList        = splitList
	ZoneNumbers      = zoneNumbers
)

// NumberAs is a number's text under a reading of report-numbers.
func NumberAs(reading, text string) string { return (&csvForm{numbers: reading}).number(text) }
