package run

import (
	"bytes"
	"encoding/json"
)

// kestraLines returns a result as the lines of standard output that Kestra reads as outputs and
// metrics of a task (https://kestra.io/docs/workflow-components/outputs,
// https://kestra.io/docs/expressions: ::{"outputs":{...}}::).
func kestraLines(r Result) ([]byte, error) {
	type metric struct {
		Name  string            `json:"name"`
		Type  string            `json:"type"` // counter, or timer in milliseconds
		Value float64           `json:"value"`
		Tags  map[string]string `json:"tags,omitempty"`
	}
	metrics := []metric{{Name: "duration", Type: "timer", Value: 1000 * r.Seconds}}
	for _, j := range r.Jobs {
		tags := map[string]string{"job": j.Job}
		metrics = append(metrics,
			metric{"rows", "counter", float64(j.Rows), tags}, metric{"written", "counter", float64(j.Written), tags},
			metric{"unchanged", "counter", float64(j.Unchanged), tags},
			metric{"failed", "counter", float64(j.Failed), tags}, metric{"left", "counter", float64(j.Left), tags},
			metric{"requests", "counter", float64(j.Requests), tags})
	}
	var b bytes.Buffer
	for _, line := range []any{map[string]any{"outputs": map[string]any{"result": r}},
		map[string]any{"metrics": metrics}} {
		text, err := json.Marshal(line)
		if err != nil {
			return nil, err
		}
		b.WriteString("::")
		b.Write(text)
		b.WriteString("::\n")
	}
	return b.Bytes(), nil
}
