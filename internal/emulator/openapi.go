package emulator

import _ "embed" // the description of the interface

// description is the OpenAPI document of all that is answered.
//
//go:embed openapi.json
var description []byte
