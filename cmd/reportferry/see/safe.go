package see

import (
	"slices"
	"strings"

	"github.com/reportferry/reportferry/sinks"
)

// harmlessParameters are the parameters of sinks' URLs that are never a secret.
var harmlessParameters = []string{"key", "location", "staging", "region", "endpoint", "domain", "protocol", "prefix"}

// withoutSecrets returns a text without what may be a secret in it. Only URLs have such parts: user
// name, password, fragment, and every parameter that isn't known to be harmless. A text without
// such a part stays as it is.
func withoutSecrets(text string) string {
	path, query, asked := strings.Cut(text, "?")
	redacted := sinks.Redact(text)
	switch {
	case !strings.Contains(text, "://"):
		return text
	case !strings.ContainsAny(text, "@#") && !strings.HasSuffix(redacted, ":..."):
		redacted = path // Redact would spell {date} in another way
	}
	kept := slices.DeleteFunc(strings.Split(query, "&"), func(p string) bool {
		name, value, _ := strings.Cut(p, "=")
		return !slices.Contains(harmlessParameters, name) || strings.ContainsAny(value, "@#?%")
	})
	if !asked || len(kept) == 0 {
		return redacted
	}
	return redacted + "?" + strings.Join(kept, "&")
}
