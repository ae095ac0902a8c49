package table

import "slices"

// matchHeader finds the place of every column among the cells of a row: -1 for one that wasn't asked for. The header must
// hold exactly the sources of the columns, in any order.
func matchHeader(header []string, columns []Column) ([]int, error) {
	var wrong HeaderError
	places := make(map[string]int, len(header))
	for i, name := range header {
		if _, twice := places[name]; twice {
			if !slices.Contains(wrong.Repeated, name) {
				wrong.Repeated = append(wrong.Repeated, name)
			}
			continue
		}
		places[name] = i
	}
	asked := make(map[string]bool, len(columns))
	at := make([]int, len(columns))
	for i, c := range columns {
		if at[i] = -1; c.Source == "" {
			continue
		}
		place, ok := places[c.Source]
		if at[i] = place; !ok && !asked[c.Source] {
			wrong.Missing = append(wrong.Missing, c.Source)
		}
		asked[c.Source] = true
	}
	for _, name := range header {
		if !asked[name] && !slices.Contains(wrong.Extra, name) {
			wrong.Extra = append(wrong.Extra, name)
		}
	}
	if len(wrong.Missing)+len(wrong.Extra)+len(wrong.Repeated) > 0 {
		return nil, &wrong
	}
	return at, nil
}
