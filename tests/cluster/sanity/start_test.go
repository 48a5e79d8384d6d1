package sanity

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// TestVariablesArriveUnchanged asks the driver at a port, which was started by a manifest's command line, what it was told
// by its variables, and for the pages of the manifest's probes.
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
	expectPage(t, "WINCSI_LIVENESS", http.StatusOK, "ok")
	// No kubelet has called: no other page says so.
	expectPage(t, "WINCSI_READINESS", http.StatusServiceUnavailable, "has not registered")
}

// expectPage gets the page whose address a variable has.
func expectPage(t *testing.T, variable string, status int, words string) {
	t.Helper()
	page, err := http.Get(os.Getenv(variable))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = page.Body.Close() }()
	text, err := io.ReadAll(page.Body)
	if err != nil {
		t.Fatal(err)
	}
	if page.StatusCode != status || !strings.Contains(string(text), words) {
		t.Errorf("%s: %s: %s", variable, page.Status, text)
	}
}
