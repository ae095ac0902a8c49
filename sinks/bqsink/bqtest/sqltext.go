package bqtest

import (
	"database/sql/driver"
	"fmt"
	"regexp"
	"strings"
	"time"
)

func compileConcat(c *compiler, e *expr, args []typed) typed {
	c.want(e.args, args, typeString)
	var sqls []string
	for _, a := range args {
		sqls = append(sqls, a.sql)
	}
	return typed{sql: "(" + strings.Join(sqls, " || ") + ")", kind: typeString}
}

func textFunction(name string) func(*compiler, *expr, []typed) typed {
	return func(c *compiler, e *expr, args []typed) typed {
		c.want(e.args, args, typeString)
		return typed{sql: name + "(" + args[0].sql + ")", kind: typeString}
	}
}

func compileLength(c *compiler, e *expr, args []typed) typed {
	c.want(e.args, args, typeString)
	return typed{sql: "LENGTH(" + args[0].sql + ")", kind: typeInteger}
}

// compileSubstr: both engines count characters from 1, and from the end when the number is negative.
func compileSubstr(c *compiler, e *expr, args []typed) typed {
	c.one(e, 0, args[0], typeString)
	for i := range args[1:] {
		c.one(e, i+1, args[i+1], typeInteger)
	}
	return typed{sql: "SUBSTR(" + join(args) + ")", kind: typeString}
}

func matching(native string) func(*compiler, *expr, []typed) typed {
	return func(c *compiler, e *expr, args []typed) typed {
		c.want(e.args, args, typeString)
		return typed{sql: native + "(" + join(args) + ")", kind: typeBool}
	}
}

func compileParseDate(c *compiler, e *expr, args []typed) typed {
	c.want(e.args, args, typeString)
	native := "bq_parse_date"
	if e.safe {
		native = "bq_safe_parse_date"
	}
	return typed{sql: native + "(" + join(args) + ")", kind: typeDate}
}

func flagOf(b bool) driver.Value {
	if b {
		return int64(1)
	}
	return int64(0)
}

func startsWith(a []driver.Value) (driver.Value, error) {
	return flagOf(strings.HasPrefix(a[0].(string), a[1].(string))), nil
}

// regexpContains: both are RE2.
func regexpContains(a []driver.Value) (driver.Value, error) {
	re, err := regexp.Compile(a[1].(string))
	if err != nil {
		return nil, fmt.Errorf("cannot parse regular expression: %w", err)
	}
	return flagOf(re.MatchString(a[0].(string))), nil
}

// like is a LIKE: % is any text, _ one character, and a backslash takes their meaning away.
func like(a []driver.Value) (driver.Value, error) {
	var b strings.Builder
	pattern := a[1].(string)
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '%':
			b.WriteString("(?s:.*)")
		case c == '_':
			b.WriteString("(?s:.)")
		case c == '\\' && i+1 < len(pattern):
			i++
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		default:
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	return regexpContains([]driver.Value{a[0], "^" + b.String() + "$"})
}

// dateElements are the format elements that are known, as layouts of package time.
// https://cloud.google.com/bigquery/docs/reference/standard-sql/format-elements
var dateElements = map[byte]string{
	'Y': "2006", 'm': "01", 'd': "02", 'y': "06", 'b': "Jan", 'B': "January", 'a': "Mon", 'A': "Monday", 'F': "2006-01-02",
	'H': "15", 'M': "04", 'S': "05",
}

// layoutOf translates a format of BigQuery's.
func layoutOf(format string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		layout, ok := dateElements[format[i]]
		if !ok {
			return "", fmt.Errorf("the format element %%%c isn't known here", format[i])
		}
		b.WriteString(layout)
	}
	return b.String(), nil
}

// formatDate(format, date).
func formatDate(a []driver.Value) (driver.Value, error) {
	layout, err := layoutOf(a[0].(string))
	if err != nil {
		return nil, err
	}
	at, err := instant(a[1])
	return at.Format(layout), err
}

// readDate(format, text) is PARSE_DATE.
func readDate(a []driver.Value) (driver.Value, error) {
	layout, err := layoutOf(a[0].(string))
	if err != nil {
		return nil, err
	}
	at, err := time.Parse(layout, a[1].(string))
	if err != nil {
		return nil, fmt.Errorf("failed to parse input string %q", a[1])
	}
	return at.Format(time.DateOnly), nil
}

func readDateOrNull(a []driver.Value) (driver.Value, error) {
	v, err := readDate(a)
	if err != nil {
		return nil, nil
	}
	return v, nil
}
