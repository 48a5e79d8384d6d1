// Package machine says what machine kubelet is to take this one for. Kubelet's own code asks it, where it was edited to.
package machine

import (
	"cmp"
	"os"
	"runtime"
)

// GOOS is the system of the node.
var GOOS = cmp.Or(os.Getenv("MACHINE_GOOS"), runtime.GOOS)

const GOARCH = runtime.GOARCH

// Loopback is the node's 127.0.0.1: nodes beside it have this machine's other ones.
var Loopback = cmp.Or(os.Getenv("MACHINE_LOOPBACK"), "127.0.0.1")

// Here is where the host of a probe is.
func Here(host string) string {
	if host == "127.0.0.1" {
		return Loopback
	}
	return host
}
