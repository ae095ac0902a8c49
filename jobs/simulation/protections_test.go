package simulation

// The protections of the engine, each as its source has it.
var protections = []protection{{
	name:  "the second look after a claim",
	edits: []edit{{"jobs/claim.go", "if after.swept >= c.number || highest(after.keys) != c.number {", "if false && after.top() == 0 {"}},
}}
