// Command peer is the Go server that csi-proxy is measured against: grpc-go over go-winio's pipes,
// the libraries that the Go csi-proxy uses, answering filesystem v1 PathExists with an Lstat.
package main

import (
	"context"
	"flag"
	"log"
	"os"

	v1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"google.golang.org/grpc"
)

type filesystem struct {
	v1.UnimplementedFilesystemServer
}

func (*filesystem) PathExists(_ context.Context, request *v1.PathExistsRequest) (*v1.PathExistsResponse, error) {
	_, err := os.Lstat(request.GetPath())
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return &v1.PathExistsResponse{Exists: err == nil}, nil
}

func main() {
	address := flag.String("address", `\\.\pipe\csi-proxy-filesystem-v1`, "the pipe, or on Linux the socket")
	flag.Parse()
	listener, err := listen(*address)
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	v1.RegisterFilesystemServer(server, &filesystem{})
	log.Fatal(server.Serve(listener))
}
