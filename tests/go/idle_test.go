package clients

import (
	"sync"
	"testing"
	"time"

	filesystemv1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
)

// Runs without a server beside it, since it starts its own. Each client calls again after about as long as
// a connection may be idle, a little less or more, so that calls meet the end of their connections.
func TestNoCallIsLostWhenIdleConnectionsEnd(t *testing.T) {
	const clients, calls, idle = 60, 5, time.Second
	kubelet(t)
	proxy := startProxy(t, "--max-connection-idle=1", "-v=2")
	var done sync.WaitGroup
	for i := range clients {
		files := dialFilesystemV1(t)
		done.Add(1)
		go func() {
			defer done.Done()
			for range calls {
				request := &filesystemv1.PathExistsRequest{Path: kubelet(t)}
				if _, err := files.PathExists(deadline(t), request); err != nil {
					t.Errorf("client %d: %v", i, err)
				}
				// The pause is what is tried, not a wait for anything.
				<-time.After(idle + time.Duration(i-clients/3)*250*time.Microsecond)
			}
		}()
	}
	done.Wait()
	if connected := proxy.clients.Load(); connected < 3*clients {
		t.Errorf("%d connections of %d clients: hardly one was ended", connected, clients)
	}
}
