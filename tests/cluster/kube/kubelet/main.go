// Kubelet: its real plugin watcher, volume manager, CSI plugin, hooks and probes over a runtime whose containers are
// processes of this machine, or nothing (containers.go).
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
	"strings"
	"time"

	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	_ "k8s.io/component-base/metrics/prometheus/restclient"
	fake "k8s.io/cri-api/pkg/apis/testing"
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
	pods       = flag.String("containers", "", "the settings of containers; empty when they run nothing")
	broken     = flag.Bool("broken-publish", false, "answer NodePublishVolume for the driver, and do nothing")
	rootOnNode = flag.String("root-on-node", `C:\var\lib\kubelet`, "the root folder as the driver is to see it")
)

func main() {
	klog.InitFlags(nil)
	var drivers []string
	flag.Func("driver", "a driver whose paths need translation: the CSI socket that it names at its registration, =, "+
		"its CSI socket", func(sockets string) error {
		drivers = append(drivers, sockets)
		return nil
	})
	flag.Parse()
	for _, sockets := range drivers {
		listen, driver, _ := strings.Cut(sockets, "=")
		must(translate(listen, translator{
			driver: driver, from: *root, to: *rootOnNode, publishesNothing: *broken,
		}))
	}
	kubelet().Run(context.Background())
}

func kubelet() *kubemark.HollowKubelet {
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
	runtime, err := newContainers(*pods)
	must(err)
	cadvisor := &cadvisortest.Fake{NodeName: *name}
	made := kubemark.NewHollowKubelet(
		flags, config, client, client, cadvisor, fake.NewFakeImageService(), runtime, cm.NewStubContainerManager())
	made.KubeletDeps.Mounter = mounter{mount.New("")}
	// Without one kubelet makes its own: the fake one finds all pods well.
	made.KubeletDeps.ProbeManager = nil
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

// A mounter looks, and mounts nothing: the tokens of pods are files, not in memory.
type mounter struct{ mount.Interface }

func (mounter) MountSensitiveWithoutSystemd(string, string, string, []string, []string) error {
	return nil
}

func must(err error) {
	if err != nil {
		klog.Fatal(err)
	}
}
