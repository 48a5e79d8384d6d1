package sanity

import (
	"context"
	"net"
	"os"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

const limit = 30 * time.Second

// TestKubeletsDials dials a driver as kubelet does, and asks what kubelet asks. The dial to the registration sets no
// authority, so that gRPC says the socket's path, escaped; the one to CSI says localhost. Both are in Kubernetes 1.36.3:
// pkg/kubelet/pluginmanager/operationexecutor (dial) and pkg/volume/csi (newGrpcConn).
func TestKubeletsDials(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	registrations := registration.NewRegistrationClient(dial(t, os.Getenv("WINCSI_REGISTRATION")))
	info, err := registrations.GetInfo(ctx, &registration.InfoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if info.Type != registration.CSIPlugin || len(info.SupportedVersions) == 0 {
		t.Fatalf("kubelet would refuse this: %v", info)
	}
	node := csi.NewNodeClient(dial(t, info.Endpoint, grpc.WithAuthority("localhost")))
	if found, err := node.NodeGetInfo(ctx, &csi.NodeGetInfoRequest{}); err != nil || found.NodeId == "" {
		t.Fatalf("%v, %v", found, err)
	}
	status := &registration.RegistrationStatus{PluginRegistered: true}
	if _, err := registrations.NotifyRegistrationStatus(ctx, status); err != nil {
		t.Fatal(err)
	}
}

func dial(t *testing.T, socket string, more ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	options := append(more,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, target string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", target)
		}))
	conn, err := grpc.NewClient("passthrough:///"+socket, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}
