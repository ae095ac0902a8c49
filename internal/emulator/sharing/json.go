package sharing

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// member is a part of a JSON object or array; in an array it has no name.
type member struct {
	name  string
	value json.RawMessage
}

// jsonParts reads the parts of a JSON object, or array, that begins with open. Unlike
// encoding/json, it keeps their order and members that are named twice. ok is false for anything
// else.
func jsonParts(raw []byte, open byte) (parts []member, ok bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != open || !json.Valid(raw) {
		return nil, false
	}
	for at := nextPart(raw, 1); raw[at] != '}' && raw[at] != ']'; at = nextPart(raw, at) {
		var m member
		if open == '{' {
			end := valueEnd(raw, at)
			m.name, _ = textOf(raw[at:end])
			at = nextPart(raw, end)
		}
		end := valueEnd(raw, at)
		m.value = raw[at:end]
		parts = append(parts, m)
		at = end
	}
	return parts, true
}

// nextPart returns the index of the next part or closing bracket, at or after at, in valid JSON.
func nextPart(raw []byte, at int) int {
	for bytes.IndexByte([]byte(" \t\r\n,:"), raw[at]) >= 0 {
		at++
	}
	return at
}

// valueEnd returns the index after the value at raw[at], in valid JSON that goes on behind it.
func valueEnd(raw []byte, at int) int {
	depth := 0
	for ; ; at++ {
		switch raw[at] {
		case '"':
			for at++; raw[at] != '"'; at++ {
				if raw[at] == '\\' {
					at++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if depth == 0 && bytes.IndexByte([]byte(" \t\r\n,:}]"), raw[at+1]) < 0 {
				continue // within a number or a name
			}
		}
		if depth == 0 {
			return at + 1
		}
	}
}

// textOf returns the text of a JSON string.
func textOf(raw json.RawMessage) (text string, isText bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	if plain := raw[1 : len(raw)-1]; bytes.IndexByte(plain, '\\') < 0 && utf8.Valid(plain) {
		return string(plain), true
	}
	return text, json.Unmarshal(raw, &text) == nil
}
