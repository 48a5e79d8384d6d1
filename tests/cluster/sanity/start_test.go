package sanity

import (
	"context"
	"net/http"
	"os"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// TestVariablesArriveUnchanged asks the driver at a port, which was started by a manifest's command line, what it was told
// by its variables, and for the page of the manifest's liveness probe.
func TestVariablesArriveUnchanged(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	target := "passthrough:///" + os.Getenv("WINCSI_TCP")
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	info, err := csi.NewNodeClient(conn).NodeGetInfo(ctx, &csi.NodeGetInfoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	hostile := os.Getenv("WINCSI_HOSTILE")
	if info.NodeId != hostile {
		t.Errorf("set: %q; node id: %q", hostile, info.NodeId)
	}
	topology := info.GetAccessibleTopology().GetSegments()
	if len(topology) != 2 || topology["wincsi.io/zone"] != "z-1" || topology["wincsi.io/rack"] != "r_2" {
		t.Errorf("topology: %v", topology)
	}
	page, err := http.Get(os.Getenv("WINCSI_LIVENESS"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = page.Body.Close() }()
	if page.StatusCode != http.StatusOK {
		t.Error(page.Status)
	}
}
