package bqtest

import "strings"

// A mask says which fields of an answer the parameter named fields selects: the names, each with a
// mask for what is below it. A nil mask selects everything below. A fake that ignored the parameter
// would hide that a caller reads fields that it didn't ask for.
// https://cloud.google.com/bigquery/docs/api-performance#partial-response
type mask map[string]mask

// parseMask parses a selection such as "a,b(c,d/e),f/g" or "*".
func parseMask(text string) (mask, *refusal) {
	m, rest := maskList(text)
	if rest != "" || len(m) == 0 {
		return nil, refuse("badRequest", "Invalid field selection %q", text)
	}
	return m, nil
}

// maskList parses a list of names with what is selected below each, and returns what follows it.
func maskList(text string) (mask, string) {
	m := mask{}
	for {
		end := strings.IndexAny(text, ",()/")
		if end < 0 {
			end = len(text)
		}
		name := strings.TrimSpace(text[:end])
		if name == "" {
			return nil, text
		}
		text = text[end:]
		var below mask
		switch {
		case strings.HasPrefix(text, "/"):
			below, text = maskPath(text[1:])
		case strings.HasPrefix(text, "("):
			below, text = maskList(text[1:])
			if !strings.HasPrefix(text, ")") || below == nil {
				return nil, text
			}
			text = text[1:]
		}
		m.add(name, below)
		if !strings.HasPrefix(text, ",") {
			return m, text
		}
		text = text[1:]
	}
}

// maskPath parses what follows a slash: one name, and what is selected below it.
func maskPath(text string) (mask, string) {
	end := strings.IndexAny(text, ",)")
	if open := strings.IndexByte(text, '('); open >= 0 && (end < 0 || open < end) {
		if closing := strings.IndexByte(text, ')'); closing >= 0 {
			end = closing + 1
		}
	}
	if end < 0 {
		end = len(text)
	}
	m, left := maskList(text[:end])
	if left != "" {
		return nil, left
	}
	return m, text[end:]
}

// add joins a selection with the mask. A name that is wanted whole stays whole.
func (m mask) add(name string, below mask) {
	have, there := m[name]
	if there && have == nil || below == nil {
		m[name] = nil
		return
	}
	if !there {
		m[name] = mask{}
	}
	for n, b := range below {
		m[name].add(n, b)
	}
}

// apply returns the fields of an answer that the mask selects. In an array it selects from each
// element.
func (m mask) apply(answer any) any {
	switch a := answer.(type) {
	case map[string]any:
		kept := map[string]any{}
		for k, v := range a {
			below, ok := m[k]
			if !ok {
				below, ok = m["*"]
			}
			switch {
			case ok && below == nil:
				kept[k] = v
			case ok:
				kept[k] = below.apply(v)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(a))
		for i, v := range a {
			kept[i] = m.apply(v)
		}
		return kept
	}
	return answer
}

// selectFields applies the call's parameter fields to its answer.
func (c *call) selectFields(answer any) (any, *refusal) {
	text := c.query.Get("fields")
	if text == "" || answer == nil {
		return answer, nil
	}
	m, r := parseMask(text)
	if r != nil {
		return nil, r
	}
	return m.apply(generic(answer)), nil
}
