//go:build !windows

package main

import (
	"context"
	"net"

	v1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// open does what the client's constructor does on Windows: a connection that only proves that the
// server is there, and one for the calls, with the pipe's path as target.
func open(address string) (v1.FilesystemClient, error) {
	if _, err := net.Dial("unix", address); err != nil {
		return nil, err
	}
	connection, err := grpc.Dial(`\\.\\pipe\\csi-proxy-filesystem-v1`,
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", address)
		}),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	return v1.NewFilesystemClient(connection), nil
}
