package clients

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystemv1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	iscsiv1alpha2 "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	smbv1 "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	systemv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	volumev1 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Runs without a server beside it, since it starts its own: the proxy is killed and started anew between
// the calls of clients that stay.
func TestClientsOutliveTheProxy(t *testing.T) {
	kubelet(t)
	proxy := startProxy(t)
	l := partitionedDisk(t, plug(t, gib), volumeV1{dialVolumeV1(t)})
	l.stage(t)
	call := callsOfEachGroup(t)
	for group := range call {
		must(t, group, call[group](deadline(t)))
	}

	proxy.kill(t)
	for group := range call {
		if code := status.Code(call[group](deadline(t))); code != codes.Unavailable {
			t.Errorf("%s without a proxy: code %v, want Unavailable", group, code)
		}
	}
	startProxy(t)
	for group := range call {
		wantAnswerAgain(t, group, call[group])
	}
	l.wantAnswersAgain(t)
	l.wantMounted(t)
	l.wantInside(t, true)
	l.unmount(t)
}

type call func(context.Context, ...grpc.CallOption) error

// wantAnswerAgain waits until a client has a connection again. A call that was on the way when the
// client learned that the old one is gone fails, and is made once more.
func wantAnswerAgain(t *testing.T, group string, call call) {
	t.Helper()
	ctx := deadline(t)
	err := call(ctx, grpc.WaitForReady(true))
	for status.Code(err) == codes.Unavailable {
		err = call(ctx, grpc.WaitForReady(true))
	}
	must(t, group+" after the proxy's restart", err)
}

// wantAnswersAgain does the same for the clients that hold the volume.
func (l *lun) wantAnswersAgain(t *testing.T) {
	t.Helper()
	wantAnswerAgain(t, "filesystem", func(ctx context.Context, options ...grpc.CallOption) error {
		request := &filesystemv1.PathExistsRequest{Path: l.target}
		return done(l.files.(filesystemV1).client.PathExists(ctx, request, options...))
	})
	wantAnswerAgain(t, "volume", func(ctx context.Context, options ...grpc.CallOption) error {
		request := &volumev1.IsVolumeFormattedRequest{VolumeId: l.volume}
		return done(l.volumes.(volumeV1).IsVolumeFormatted(ctx, request, options...))
	})
}

// callsOfEachGroup has a client of each group, and a call that changes nothing.
func callsOfEachGroup(t *testing.T) map[string]call {
	disk, files, targets := dialDiskV1(t), dialFilesystemV1(t), dialIscsiV1alpha2(t)
	shares, system, volumes := dialSmbV1(t), dialSystemV1alpha1(t), dialVolumeV1(t)
	startInitiator(t)
	return map[string]call{
		"disk": func(ctx context.Context, options ...grpc.CallOption) error {
			return done(disk.ListDiskIDs(ctx, &diskv1.ListDiskIDsRequest{}, options...))
		},
		"filesystem": func(ctx context.Context, options ...grpc.CallOption) error {
			return done(files.PathExists(ctx, &filesystemv1.PathExistsRequest{Path: kubelet(t)}, options...))
		},
		"iscsi": func(ctx context.Context, options ...grpc.CallOption) error {
			return done(targets.ListTargetPortals(ctx, &iscsiv1alpha2.ListTargetPortalsRequest{}, options...))
		},
		"smb": func(ctx context.Context, options ...grpc.CallOption) error {
			request := &smbv1.NewSmbGlobalMappingRequest{RemotePath: share, Username: user, Password: password}
			return done(shares.NewSmbGlobalMapping(ctx, request, options...))
		},
		"system": func(ctx context.Context, options ...grpc.CallOption) error {
			request := &systemv1alpha1.GetServiceRequest{Name: initiatorService}
			return done(system.GetService(ctx, request, options...))
		},
		"volume": func(ctx context.Context, options ...grpc.CallOption) error {
			return done(volumes.ListVolumesOnDisk(ctx, &volumev1.ListVolumesOnDiskRequest{}, options...))
		},
	}
}

// proxy is a csi-proxy that this test started.
type proxy struct {
	process *exec.Cmd
	// clients is how many connections its log told of; it does so at -v=2.
	clients *atomic.Int64
}

// startProxy starts csi-proxy on the node and waits until it says that it is ready.
func startProxy(t *testing.T, flags ...string) proxy {
	t.Helper()
	arguments := append(flags, "--kubelet-path="+kubelet(t), "--simulate="+node())
	if sockets := os.Getenv("WINCSI_SOCKETS"); sockets != "" {
		arguments = append(arguments, "--listen="+sockets)
	}
	process := exec.CommandContext(deadline(t), os.Getenv("WINCSI_SERVER"), arguments...)
	log, err := process.StderrPipe()
	must(t, "make a pipe", err)
	must(t, "start csi-proxy", process.Start())
	t.Cleanup(func() {
		process.Process.Kill()
		process.Wait()
	})
	lines := bufio.NewScanner(log)
	must(t, "wait for csi-proxy", waitUntilReady(lines))
	started := proxy{process, new(atomic.Int64)}
	go func() {
		for lines.Scan() {
			if strings.Contains(lines.Text(), "] client connected") {
				started.clients.Add(1)
			}
		}
	}()
	return started
}

func waitUntilReady(lines *bufio.Scanner) error {
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
		if strings.HasSuffix(lines.Text(), "] ready") {
			return nil
		}
	}
	return fmt.Errorf("it ended and said:\n%s", strings.Join(said, "\n"))
}

func (p proxy) kill(t *testing.T) {
	t.Helper()
	must(t, "kill csi-proxy", p.process.Process.Kill())
	p.process.Wait()
}
