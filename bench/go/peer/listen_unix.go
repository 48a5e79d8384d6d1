//go:build !windows

package main

import "net"

func listen(address string) (net.Listener, error) {
	return net.Listen("unix", address)
}
