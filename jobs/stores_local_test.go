//go:build !servers

package jobs

import "testing"

// onServers has none without the tag servers.
func onServers(*testing.T, func(t *testing.T, url string)) {}
