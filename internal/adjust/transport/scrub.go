package transport

import (
	"encoding/json"
	"errors"
	"html"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/reportferry/reportferry/internal/lazy"
)

// A scrubber knows what the errors and logs of one request must not show.
type scrubber struct {
	tokens *secrets
	hidden []string // values to hide of the request itself
	blot   string   // replaces them
}

// scrub replaces tokens, escaped or not, and the values that the request hides.
func (v scrubber) scrub(text string) string {
	text = v.tokens.scrub(text)
	for _, h := range v.hidden {
		text = blotRuns(text, h, v.blot)
		if bare := strings.ReplaceAll(h, "-", ""); bare != h { // an advertising ID is often stored without hyphens
			text = blotRuns(text, bare, v.blot)
		}
	}
	return text
}

// errorLimit is the most bytes of an error's text. Only an error that contains a server's answer is
// longer.
const errorLimit = 2000

// scrubError returns err unchanged, unless its text shows something hidden or is too long. The
// error returned then has only the cleaned text, and matches what err matches in errors.Is.
func (v scrubber) scrubError(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // u's own text has the address, which is long and may come from a redirect
	}
	if err == nil {
		return nil
	}
	clean := v.scrub(err.Error())
	if len(clean) > errorLimit {
		clean = Shorten(clean)
	}
	if clean == err.Error() {
		return err
	}
	return &scrubbedError{text: clean, original: err}
}

// A scrubbedError is an error with a cleaned text. It has no Unwrap, because the original error
// would print the token.
type scrubbedError struct {
	text     string
	original error
}

func (e *scrubbedError) Error() string        { return e.text }
func (e *scrubbedError) Is(target error) bool { return errors.Is(e.original, target) }

// longestRun is how many consecutive characters of a hidden value may be seen, as where the service
// shortens it.
const longestRun = 7

// blotRuns replaces every piece of id that is longer than longestRun, or the whole of a shorter id,
// in any case and under any escapes.
func blotRuns(text, id, blot string) string {
	if id == "" {
		return text
	}
	// Text may be escaped several times, as JSON in JSON.
	for plain, level := text, 0; level < 3 && strings.ContainsAny(plain, `%\&`); level++ {
		plain = unescaped(plain)
		if clean := blotPlain(plain, id, blot); clean != plain {
			text, plain = clean, clean
		}
	}
	return blotPlain(text, id, blot)
}

// percents, unicodes and slashes match or undo the escapes of URLs and JSON.
var (
	percents = lazy.Regexp(`(?:%[0-9A-Fa-f]{2})+`)
	unicodes = lazy.Regexp(`(?:\\u[0-9A-Fa-f]{4})+`)
	slashes  = strings.NewReplacer(`\"`, `"`, `\/`, "/", `\\`, `\`)
)

// unescaped undoes the escapes of URLs, JSON and HTML anywhere in a text.
func unescaped(text string) string {
	text = percents().ReplaceAllStringFunc(text, func(s string) string {
		out, err := url.PathUnescape(s)
		if err != nil {
			return s
		}
		return out
	})
	text = unicodes().ReplaceAllStringFunc(text, func(s string) string {
		var out string
		if json.Unmarshal([]byte(`"`+s+`"`), &out) != nil {
			return s
		}
		return out
	})
	return html.UnescapeString(slashes.Replace(text))
}

// blotPlain is blotRuns for a text without escapes.
func blotPlain(text, id, blot string) string {
	runes, lower := []rune(text), []rune(text)
	for i, r := range lower {
		lower[i] = folded(r)
	}
	id = strings.Map(folded, id)
	least := min(longestRun+1, utf8.RuneCountInString(id))
	var b strings.Builder
	for i := 0; i < len(runes); {
		n := least
		for i+n <= len(runes) && strings.Contains(id, string(lower[i:i+n])) {
			n++
		}
		if n == least {
			b.WriteRune(runes[i])
			i++
			continue
		}
		b.WriteString(blot)
		i += n - 1
	}
	return b.String()
}

// folded returns r in lower case, and a blank for a plus, which means a blank in a query.
func folded(r rune) rune {
	if r == '+' {
		return ' '
	}
	return unicode.ToLower(r)
}

// tokenBlot replaces tokens in texts.
const tokenBlot = "[token]"

// secrets holds every token that was ever sent, and replaces them in texts.
type secrets struct {
	mu       sync.Mutex
	known    []string // longest first, because one token may begin with another
	replacer *strings.Replacer
}

// add adds a token to those that are replaced.
func (s *secrets) add(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.known, token) {
		return
	}
	s.known = append(s.known, token)
	slices.SortFunc(s.known, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(s.known))
	for _, k := range s.known {
		pairs = append(pairs, k, tokenBlot)
	}
	s.replacer = strings.NewReplacer(pairs...)
}

// unescape undoes the escapes of JSON, URLs and HTML for the three characters of a token that may
// be escaped.
var unescape = strings.NewReplacer(
	`\u002b`, "+", `\u002B`, "+", "%2b", "+", "%2B", "+", "&#43;", "+", "&#x2b;", "+", "&#x2B;", "+",
	`\u002f`, "/", `\u002F`, "/", "%2f", "/", "%2F", "/", "&#47;", "/", "&#x2f;", "/", "&#x2F;", "/", `\/`, "/",
	`\u003d`, "=", `\u003D`, "=", "%3d", "=", "%3D", "=", "&#61;", "=", "&#x3d;", "=", "&#x3D;", "=",
)

// scrub replaces every token, escaped or not.
func (s *secrets) scrub(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.replacer == nil {
		return text
	}
	text = s.replacer.Replace(text)
	if plain := unescape.Replace(text); plain != text {
		if clean := s.replacer.Replace(plain); clean != plain {
			return clean
		}
	}
	return text
}
