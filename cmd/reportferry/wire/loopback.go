package wire

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// IsLoopback tells whether only this machine reaches an address.
func IsLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	return err == nil && isLoopbackHost(host)
}

// isLoopbackHost tells whether a host without a port is this machine's loopback.
func isLoopbackHost(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// KnownHosts passes on requests whose Host is loopback, the address that the server listens on, or
// one of the names, and answers others with 421. A browser that was led here by a foreign name
// still sends that name.
func KnownHosts(listen string, next http.Handler, names ...string) http.Handler {
	also := ""
	if names != nil {
		also = ", or a name that it was told to have"
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		if named := slices.ContainsFunc(names, func(name string) bool {
			return strings.EqualFold(name,
				hostOf(r.Host))
		}); !named && !isKnownHost(r.Host, listen, local) {
			http.Error(w, fmt.Sprintf("The request is for the host %q, which isn't this server; want localhost, a "+
				"loopback address, or the address that it listens on%s.", r.Host, also), http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isKnownHost tells whether a Host is loopback or this server's own address. Ports aren't compared,
// because tunnels change them. local is this end of the connection.
func isKnownHost(host, listen string, local net.Addr) bool {
	host = hostOf(host)
	if ip, err := netip.ParseAddr(host); err == nil {
		own, _ := local.(*net.TCPAddr)
		ip = ip.Unmap()
		return ip.IsLoopback() || ip.String() == hostOf(listen) || own != nil && ip == own.AddrPort().Addr().Unmap()
	}
	return host != "" && (strings.EqualFold(host, "localhost") || strings.EqualFold(host, hostOf(listen)))
}

// hostOf returns an address without its port and brackets.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return strings.Trim(address, "[]")
}
