package sinks

import (
	"errors"
	"fmt"
	"strings"
)

// Check returns an error for a definition that no sink could keep as intended, or else the types of
// the columns by name. These are the checks that all sinks have in common.
func (s *Schema) Check() (map[string]ColumnType, error) {
	if len(s.Columns) == 0 {
		return nil, errors.New("the table's schema has no columns")
	}
	types, lower := map[string]ColumnType{}, map[string]string{}
	for _, c := range s.Columns {
		if other, taken := lower[strings.ToLower(c.Name)]; taken {
			return nil, fmt.Errorf("columns %s and %s: two columns have that name, because to most readers A and a "+
				"are the same; "+
				"as: gives an event's columns another name, and drop: takes a column out of partitions that have it",
				other, c.Name)
		}
		lower[strings.ToLower(c.Name)], types[c.Name] = c.Name, c.Type
	}
	if t := types[s.On]; s.Period != "whole" && t != Date && t != DateTime {
		return nil, fmt.Errorf("the table's partitions are by %q, which isn't a date or a timestamp of it", s.On)
	}
	return types, nil
}
