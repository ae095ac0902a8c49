package sharing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"pgregory.net/rapid"
)

// slowParts reads the parts by the standard library's decoder.
func slowParts(raw []byte, open json.Delim) (parts []member, ok bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != open {
		return nil, false
	}
	for d.More() {
		var m member
		if open == '{' {
			t, err := d.Token()
			if err != nil {
				return nil, false
			}
			m.name = t.(string)
		}
		if d.Decode(&m.value) != nil {
			return nil, false
		}
		parts = append(parts, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, false
	}
	_, err := d.Token()
	return parts, err == io.EOF
}

func drawJSON(rt *rapid.T, depth int) string {
	space := rapid.SampledFrom([]string{"", "", " ", "\n\t"})
	text := func() string {
		return rapid.SampledFrom([]string{`""`, `"a"`, `"a\"b"`, `"\\"`, `"{[,:]}"`, `"ä\u00e4"`, "\"\xff\"",
			`"\ud800"`}).Draw(rt, "text")
	}
	kind := rapid.IntRange(0, 3).Draw(rt, "kind")
	if depth == 0 {
		kind = 0
	}
	var parts []string
	switch kind {
	case 0:
		return rapid.SampledFrom([]string{"1", "-0.5e+3", "true", "false", "null", text(), "{}", "[ ]"}).Draw(rt,
			"leaf")
	case 1:
		for range rapid.IntRange(0, 3).Draw(rt, "n") {
			parts = append(parts, space.Draw(rt, "space")+drawJSON(rt, depth-1)+space.Draw(rt, "space"))
		}
		return "[" + string(bytes.Join(byteSlices(parts), []byte(","))) + "]"
	default:
		for range rapid.IntRange(0, 3).Draw(rt, "n") {
			parts = append(parts, space.Draw(rt, "space")+text()+space.Draw(rt, "space")+":"+space.Draw(rt,
				"space")+drawJSON(rt, depth-1))
		}
		return "{" + string(bytes.Join(byteSlices(parts), []byte(","))) + space.Draw(rt, "space") + "}"
	}
}

func byteSlices(texts []string) (out [][]byte) {
	for _, t := range texts {
		out = append(out, []byte(t))
	}
	return out
}

// Parts are what the standard library reads, of broken texts too.
func TestJSONPartsEqualTheStandardLibrarys(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		raw := []byte(drawJSON(rt, 3))
		if len(raw) > 1 && rapid.IntRange(0, 4).Draw(rt, "break") == 0 {
			at := rapid.IntRange(0, len(raw)-1).Draw(rt, "at")
			raw = append(raw[:at:at], raw[at+1:]...)
		}
		for _, open := range []byte("{[") {
			got, ok := jsonParts(raw, open)
			want, wantOK := slowParts(raw, json.Delim(open))
			if ok != wantOK || ok && fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
				rt.Fatalf("%q: %q %t, want %q %t", raw, got, ok, want, wantOK)
			}
			for _, m := range got {
				var text string
				isText := m.value[0] == '"' && json.Unmarshal(m.value, &text) == nil
				if s, ok := textOf(m.value); ok != isText || s != text {
					rt.Fatalf("%q: text %q %t, want %q %t", m.value, s, ok, text, isText)
				}
			}
		}
	})
}
