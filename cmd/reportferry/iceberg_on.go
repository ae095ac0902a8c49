//go:build iceberg

package main

import (
	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/icesink"
)

// withIceberg reports whether this build can write Iceberg tables.
const withIceberg = true

// openIceberg opens a namespace of an Iceberg catalog.
var openIceberg sinks.Opener = icesink.Open
