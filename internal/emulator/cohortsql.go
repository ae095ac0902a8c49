package emulator

import (
	"fmt"
	"strings"
)

// expandCohorts replaces {until_end:x}, {until_now:x} and {inside:x}: what a fact's cohort has accumulated of base x by
// the end of the period, until now, and between the period's first and last day. A cohort is never ahead of its age.
func expandCohorts(row string, p cohortPeriod) string {
	var out []string
	for _, list := range [][]cohortBase{cohortBases, eventBases} {
		for _, b := range list {
			end := b.until(fmt.Sprintf("min(%d,{age})", p.end))
			inside := end
			if p.start > 0 {
				inside = "(" + end + "-" + b.until(fmt.Sprintf("min(%d,{age})", p.start-1)) + ")"
			}
			out = append(out, "{until_end:"+b.slug+"}", end, "{until_now:"+b.slug+"}", b.until("{age}"), "{inside:"+b.slug+"}", inside)
		}
	}
	return strings.NewReplacer(out...).Replace(row)
}

// until is SQL for what has come by the end of day age of a cohort.
func (b cohortBase) until(age string) string {
	grown := fmt.Sprintf("%s*(%s+1)/(%s+%d)", b.amount, age, age, b.half+1)
	if b.kind == money {
		return "(" + grown + ")"
	}
	return fmt.Sprintf("((%s+(f.salt*%d)%%1000000)/1000000)", grown, b.salt)
}
