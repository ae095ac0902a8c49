package bqtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// etag returns an opaque text that differs for each version of a resource.
func etag(version int64) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "v%d", version))
}

// decode parses a resource. JSON that doesn't fit it is refused as BigQuery does.
func decode(body []byte, into any) *refusal {
	if err := json.Unmarshal(body, into); err != nil {
		return refuse("badRequest", "Invalid JSON payload received: %v", err)
	}
	return nil
}

// checkEtag checks the precondition If-Match: the resource still has that etag.
func checkEtag(c *call, have string) *refusal {
	if want := c.request.Header.Get("If-Match"); want != "" && want != "*" && want != have {
		return refuse("conditionNotMet", "Precondition Failed")
	}
	return nil
}

// merge applies a patch. Its fields replace those of the resource, null removes one, and objects
// other than schemas are merged.
func merge(old any, patch []byte, into any) *refusal {
	have, _ := generic(old).(map[string]any)
	change := map[string]any{}
	if r := decode(patch, &change); r != nil {
		return r
	}
	mergeMaps(have, change)
	b, err := json.Marshal(have)
	if err != nil {
		return refuse("badRequest", "Invalid patch: %v", err)
	}
	return decode(b, into)
}

// mergeMaps is merge for the fields of objects.
func mergeMaps(have, change map[string]any) {
	for k, v := range change {
		below, isMap := v.(map[string]any)
		old, wasMap := have[k].(map[string]any)
		switch {
		case v == nil:
			delete(have, k)
		case isMap && wasMap && k != "schema":
			mergeMaps(old, below)
		case isMap:
			fresh := map[string]any{}
			mergeMaps(fresh, below)
			have[k] = fresh
		default:
			have[k] = v
		}
	}
}

// generic returns a resource as the maps and slices that encoding/json decodes into an any.
func generic(resource any) (any any) {
	b, err := json.Marshal(resource)
	if err == nil {
		err = json.Unmarshal(b, &any)
	}
	if err != nil {
		panic(fmt.Sprintf("bqtest: a resource of its own can't be written as JSON: %v", err))
	}
	return any
}
