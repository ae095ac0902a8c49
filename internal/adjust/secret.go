package adjust

import (
	"slices"
	"strings"
	"sync"
)

const blot = "[token]"

// secrets knows every token that was ever sent.
type secrets struct {
	mu    sync.Mutex
	known []string // longest first, so that none is taken for the beginning of another
	blots *strings.Replacer
}

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
		pairs = append(pairs, k, blot)
	}
	s.blots = strings.NewReplacer(pairs...)
}

// unescape undoes what JSON, URLs and HTML do to the three characters of a token that aren't always left alone.
var unescape = strings.NewReplacer(
	`\u002b`, "+", `\u002B`, "+", "%2b", "+", "%2B", "+", "&#43;", "+", "&#x2b;", "+", "&#x2B;", "+",
	`\u002f`, "/", `\u002F`, "/", "%2f", "/", "%2F", "/", "&#47;", "/", "&#x2f;", "/", "&#x2F;", "/", `\/`, "/",
	`\u003d`, "=", `\u003D`, "=", "%3d", "=", "%3D", "=", "&#61;", "=", "&#x3d;", "=", "&#x3D;", "=",
)

// scrub blots out every token, escaped or not.
func (s *secrets) scrub(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.blots == nil {
		return text
	}
	text = s.blots.Replace(text)
	if plain := unescape.Replace(text); plain != text {
		if clean := s.blots.Replace(plain); clean != plain {
			return clean
		}
	}
	return text
}
