// Kubelet without containers: the real plugin watcher, volume manager and CSI plugin over a fake container runtime.
//
// It is kubelet as Kubernetes' own scale tests start it (package kubemark), but with a root folder that outlives it,
// volumes that the controller attaches, and real looks at whether a folder is mounted or a link. What would change this
// machine stays a fake: the real HostUtil mounts kubelet's root onto itself.
//
// Kubelet's root lies on drive C of a simulated node, and a driver of that node wants paths as the node names them.
// On Linux kubelet therefore calls the driver through a translator (translator.go). As a Windows program it says
// C:\var\lib\kubelet by itself, and dials the driver directly.
package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	system "runtime"
	"time"

	"go.opentelemetry.io/otel/trace/noop"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	_ "k8s.io/component-base/metrics/prometheus/restclient"
	internalapi "k8s.io/cri-api/pkg/apis"
	remote "k8s.io/cri-client/pkg"
	fakeremote "k8s.io/cri-client/pkg/fake"
	"k8s.io/klog/v2"
	cadvisortest "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubemark"
	"k8s.io/mount-utils"
)

var (
	name       = flag.String("name", "trial-node", "the node's name")
	kubeconfig = flag.String("kubeconfig", "", "how to reach the apiserver")
	root       = flag.String("root-dir", "", "kubelet's root folder")
	driver     = flag.String("driver", "", "the driver's CSI socket; empty when its paths need no translation")
	listen     = flag.String("listen", "", "the CSI socket that the driver names at its registration")
	broken     = flag.Bool("broken-publish", false, "answer NodePublishVolume for the driver, and do nothing")
	rootOnNode = flag.String("root-on-node", `C:\var\lib\kubelet`, "the root folder as the driver is to see it")
)

func main() {
	klog.InitFlags(nil)
	flag.Parse()
	if *driver != "" {
		must(translate(*listen, translator{
			driver: *driver, from: *root, to: *rootOnNode, publishesNothing: *broken,
		}))
	}
	kubelet(context.Background()).Run(context.Background())
}

func kubelet(ctx context.Context) *kubemark.HollowKubelet {
	client := apiserver()
	flags, config := kubemark.GetHollowKubeletConfig(&kubemark.HollowKubeletOptions{NodeName: *name, MaxPods: 110})
	// It makes a temporary folder for its root, pods of files and logs, and leaves it. Wine cannot remove it.
	if err := os.RemoveAll(flags.RootDirectory); err != nil {
		klog.Warning(err)
	}
	flags.RootDirectory = *root
	config.StaticPodPath = ""
	config.PodLogsDir = filepath.Join(*root, "pod-logs")
	config.NodeStatusUpdateFrequency.Duration = time.Second
	config.SyncFrequency.Duration = time.Second
	config.EnableServer = false
	config.EnableControllerAttachDetach = true
	config.VolumeStatsAggPeriod.Duration = time.Second
	images, containers := runtime(ctx)
	cadvisor := &cadvisortest.Fake{NodeName: *name}
	made := kubemark.NewHollowKubelet(
		flags, config, client, client, cadvisor, images, containers, cm.NewStubContainerManager())
	made.KubeletDeps.Mounter = mount.New("")
	// Without a recorder kubelet makes its own: the fake one drops all events.
	made.KubeletDeps.Recorder = nil
	made.KubeletDeps.EventClient = apiserver().CoreV1()
	return made
}

func apiserver() *clientset.Clientset {
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	must(err)
	client, err := clientset.NewForConfig(config)
	must(err)
	return client
}

// runtime starts the runtime that says of each container that it runs.
func runtime(ctx context.Context) (internalapi.ImageManagerService, internalapi.RuntimeService) {
	endpoint, err := fakeremote.GenerateEndpoint()
	must(err)
	if system.GOOS != "windows" {
		endpoint = "unix://" + filepath.Join(os.TempDir(), "runtime.sock")
	}
	fake := fakeremote.NewFakeRemoteRuntime()
	must(fake.Start(endpoint))
	service, err := remote.NewRemoteRuntimeService(ctx, endpoint, 15*time.Second, noop.NewTracerProvider(), false)
	must(err)
	return fake.ImageService, service
}

func must(err error) {
	if err != nil {
		klog.Fatal(err)
	}
}
