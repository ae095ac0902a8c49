package collector

import (
	"fmt"
	"slices"
	"strings"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
)

// text returns the value of an attribute as text.
func text(v *common.AnyValue) string {
	switch v := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return v.StringValue
	case *common.AnyValue_IntValue:
		return fmt.Sprint(v.IntValue)
	case *common.AnyValue_BoolValue:
		return fmt.Sprint(v.BoolValue)
	case *common.AnyValue_DoubleValue:
		return fmt.Sprint(v.DoubleValue)
	}
	return fmt.Sprint(v)
}

// Tree draws the spans below their parents, each with the named attributes, and its events with
// their reasons. Spans of the same parent are sorted by their text, because they run side by side.
// Spans whose parent never came are roots.
func (c *Collector) Tree(attributes ...string) string {
	below := map[string][]*trace.Span{}
	known := map[string]bool{}
	for _, s := range c.Spans() {
		known[string(s.SpanId)] = true
	}
	for _, s := range c.Spans() {
		parent := string(s.ParentSpanId)
		if !known[parent] {
			parent = ""
		}
		below[parent] = append(below[parent], s)
	}
	var draw func(parent, indent string) []string
	draw = func(parent, indent string) (lines []string) {
		var blocks []string
		for _, s := range below[parent] {
			line := indent + s.Name + about(s, attributes)
			blocks = append(blocks, strings.Join(append([]string{line}, draw(string(s.SpanId), indent+"  ")...), "\n"))
		}
		slices.Sort(blocks)
		return blocks
	}
	return strings.Join(draw("", ""), "\n") + "\n"
}

// about returns what Tree writes after the name of a span.
func about(s *trace.Span, attributes []string) string {
	var b strings.Builder
	has := Texts(s.Attributes)
	for _, name := range attributes {
		if has[name] != "" {
			fmt.Fprintf(&b, " %s=%s", name, has[name])
		}
	}
	for _, e := range s.Events {
		fmt.Fprintf(&b, " [%s %s]", e.Name, Texts(e.Attributes)["reason"])
	}
	if s.Status.GetCode() == trace.Status_STATUS_CODE_ERROR {
		b.WriteString(" ERROR")
	}
	return b.String()
}
