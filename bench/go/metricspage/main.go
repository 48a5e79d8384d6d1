// Command metricspage prints the series of calls that a Go csi-proxy would serve after a few calls:
// grpc-go with the Prometheus interceptors of go-grpc-middleware and csi-proxy's buckets. The proxy's
// tests compare their own page with the recorded output (crates/proxy/tests/middleware/recorded).
package main

import (
	"context"
	"errors"
	"log"
	"net"
	"os"
	"path/filepath"

	middleware "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	v1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// csi-proxy's, in seconds.
var buckets = []float64{0.001, 0.01, 0.1, 0.3, 0.6, 1, 3, 6, 9, 20, 30, 60, 90, 120}

type filesystem struct {
	v1.UnimplementedFilesystemServer
}

func (*filesystem) PathExists(_ context.Context, request *v1.PathExistsRequest) (*v1.PathExistsResponse, error) {
	if request.GetPath() == "" {
		return nil, errors.New("not an absolute Windows path: ")
	}
	return &v1.PathExistsResponse{}, nil
}

func (*filesystem) IsSymlink(context.Context, *v1.IsSymlinkRequest) (*v1.IsSymlinkResponse, error) {
	return nil, errors.New("not an absolute Windows path: ")
}

func main() {
	metrics := middleware.NewServerMetrics(
		middleware.WithServerHandlingTimeHistogram(middleware.WithHistogramBuckets(buckets)))
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics)
	folder, err := os.MkdirTemp("", "metricspage")
	check(err)
	defer os.RemoveAll(folder)
	socket := filepath.Join(folder, "socket")
	listener, err := net.Listen("unix", socket)
	check(err)
	server := grpc.NewServer(grpc.UnaryInterceptor(metrics.UnaryServerInterceptor()))
	v1.RegisterFilesystemServer(server, &filesystem{})
	go server.Serve(listener)
	call(socket)
	server.GracefulStop()
	families, err := registry.Gather()
	check(err)
	for _, family := range families {
		_, err := expfmt.MetricFamilyToText(os.Stdout, family)
		check(err)
	}
}

// call makes the calls of the recorded page: two of PathExists that succeed and one that fails, and one
// of IsSymlink that fails.
func call(socket string) {
	connection, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(err)
	defer connection.Close()
	client := v1.NewFilesystemClient(connection)
	for _, path := range []string{`C:\var\lib\kubelet\a`, `C:\var\lib\kubelet\b`, ""} {
		_, err := client.PathExists(context.Background(), &v1.PathExistsRequest{Path: path})
		if (err != nil) != (path == "") {
			log.Fatalf("%q: %v", path, err)
		}
	}
	if _, err := client.IsSymlink(context.Background(), &v1.IsSymlinkRequest{}); err == nil {
		log.Fatal("IsSymlink succeeded")
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
