package wire

import (
	"net"
	"testing"
)

func TestHostsOfAnAddress(t *testing.T) {
	local := &net.TCPAddr{IP: net.ParseIP("192.0.2.7"), Port: 8080}
	for _, c := range []struct {
		host, listen string
		want         bool
	}{
		{"192.0.2.7:8080", "0.0.0.0:8080", true}, {"192.0.2.7", ":8080", true}, {"[::ffff:192.0.2.7]", ":8080", true},
		{"192.0.2.8", "0.0.0.0:8080", false},
		{"0.0.0.0:80", "0.0.0.0:80", true}, {"[::]:80", "[::]:80", true}, {"emulator:8080", "emulator:8080", true},
		{"EMULATOR", "emulator:80", true}, {"emulator2", "emulator:80", false}, {"", ":8080", false},
		{"localhost", "emulator:80", true}, {"[fe80::1%25eth0]:80", ":80", false}, {"a:b:c", ":80", false},
	} {
		if got := isKnownHost(c.host, c.listen, local); got != c.want {
			t.Errorf("Host %q at %s: %v", c.host, c.listen, got)
		}
	}
}
