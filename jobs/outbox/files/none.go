package files

import (
	"fmt"
	"strings"
	"sync"
	"unicode"

	"github.com/reportferry/reportferry/internal/lazy"
)

// notIDs holds the ways in which trackers, databases and programs write that there is no ID, and
// the names of IDs themselves, reduced to letters and digits. Adjust's and other SDKs, Go, Java,
// JavaScript, pandas, Hive and Excel each have their own.
var notIDs = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, word := range strings.Fields(
		`null nil none na nan nat n undefined unknown unset notset notavailable notapplicable notprovided notfound notgiven
		unavailable empty emptystring blank missing void default invalid error false true no yes other dbnull dbnullvalue systemdbnull
		optionalempty javautiloptionalempty objectobject hivedefaultpartition noid noidfa nogaid noadid noaaid nodevice nodeviceid noclickid
		limited limitadtracking lat optout optedout disabled denied restricted unauthorized notdetermined hidden withheld anonymous anonymized anonymised redacted
		removed deleted masked idfa idfv ifa gaid aaid adid gpsadid gpsaid advertisingid googleadid googleadvertisingid appleadvertisingid androidid deviceid id
		clickid costid impressionid`) {
		all[word] = true
	}
	for _, hash := range []string{ // hashes of the empty text, and of an ID that is all zeros: MD5, SHA-1, SHA-256
		"d41d8cd98f00b204e9800998ecf8427e", "da39a3ee5e6b4b0d3255bfef95601890afd80709",
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"9f89c84a559f573636a47ff8daed0d33", "b602d594afd2b0b327e07a06f36ca6a7e42546d0",
		"12b9377cbe7e5c94e8a70d9d23929523d14afa954793130f8a3959c7b849aca8",
	} {
		all[hash] = true
	}
	return all
})

var (
	// placeholder matches a link's placeholder that no program has filled in, such as {click_id},
	// ${SUB1}, __IDFA__, %%CLICK%% or [device_id].
	placeholder = lazy.Regexp(
		`^(\$?\{+[A-Za-z][\w. :-]*\}+|\[+[A-Za-z][\w. :-]*\]+|__[A-Za-z]\w*__|%+[A-Za-z]\w*%+|<[A-Za-z][\w. :-]*>)$`)
	// uuid matches a UUID, of any version.
	uuid = lazy.Regexp(`^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$`)
	// scientific matches a long number that a spreadsheet or a program has shortened to its first
	// digits.
	scientific = lazy.Regexp(`^[+-]?\d[.,]\d+[eE][+-]?\d{1,3}$`)
	// fraction matches a whole number with decimals, as programs write a column of numbers that has
	// gaps.
	fraction = lazy.Regexp(`^[+-]?\d+[.,]0+$`)
)

const (
	isNone    = "is a way of writing that there is no ID"
	isRounded = "is a number that a spreadsheet or a program has rounded; export the column as text"
)

// NotID returns the reason why a text is no ID although it stands in place of one, or an empty
// string if it may be an ID or is empty.
func NotID(s string) string {
	if plainID(s) {
		return ""
	}
	bare := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
	ascii := strings.IndexFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) < 0
	switch {
	case s == "":
		return ""
	case bare == "" && ascii:
		return "has neither letters nor digits"
	case ascii && strings.Trim(bare, "0") == "":
		return "is all zeros, as of every device that hides its ID"
	case len(bare) >= 8 && ascii && strings.Trim(bare, bare[:1]) == "":
		return "is one character over and over"
	case s == "-1" || notIDs()[bare]:
		return isNone
	case placeholder().MatchString(s) && !uuid().MatchString(strings.Trim(s, "{}[]<>$")):
		return "is a placeholder that the program which wrote the file hasn't filled in"
	case strings.ContainsAny(s, ".,eE") && (scientific().MatchString(s) || fraction().MatchString(s)):
		return isRounded
	}
	for _, r := range s {
		if r > unicode.MaxLatin1 && unicode.In(r, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp,
			unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) || r == '\u00a0' || r == '\u00ad' ||
			r == '\u2800' {
			return fmt.Sprintf("holds the invisible character %U", r)
		}
	}
	return ""
}

// plainID quickly recognizes most valid IDs: they have letters and digits of ASCII, and not the
// length of a hash.
func plainID(s string) bool {
	digit, letter := false, false
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 0x7f:
			return false
		case c >= '1' && c <= '9':
			digit = true
		case c|0x20 >= 'a' && c|0x20 <= 'z' && c|0x20 != 'e':
			letter = true
		}
	}
	return digit && letter && len(s) != 32 && len(s) != 40 && len(s) != 64 && strings.IndexByte("{[<_%$", s[0]) < 0
}

// IsUUID reports whether an ID has the form of Apple's and Google's advertising IDs: 8-4-4-4-12
// hexadecimal digits (RFC 9562, 4).
func IsUUID(s string) bool { return uuid().MatchString(s) }
