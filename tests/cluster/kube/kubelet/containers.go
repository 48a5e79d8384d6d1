package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	fake "k8s.io/cri-api/pkg/apis/testing"
	"k8s.io/klog/v2"

	"github.com/wincsi/wincsi/tests/cluster/kube/machine"
)

// Containers are a runtime that starts what a pod names, with its command, arguments and variables, as a process of this
// machine: no files, user, network or limits of its own. Without settings, and of an image without a root, they run
// nothing.
type containers struct {
	*fake.FakeRuntimeService
	settings
	mutex sync.Mutex
	all   map[string]*container
	links int
}

// Settings are the harness's.
type settings struct {
	// Folder has what containers need of this machine, by short paths: a socket's has 108 bytes at most.
	Folder string
	// Logs is the folder of what they print.
	Logs string
	// Images by their names.
	Images map[string]image
	// Variables of containers by the pod's app.kubernetes.io/name, in place of those of the pod.
	Variables map[string]map[string]string
	// Server is where the API server is: there is no proxy of services.
	Server string
}

type image struct {
	// Root is the folder of its files.
	Root       string
	Entrypoint []string
	Env        []string
	// CallsAPI has a kubeconfig as an argument, and a variable: its program looks for the token and the namespace of its
	// pod at fixed paths.
	CallsAPI bool
}

type container struct {
	image   *image
	words   []string
	env     []string
	log     string
	process *process
}

const (
	token = "/var/run/secrets/kubernetes.io/serviceaccount"
	// After the signal, whatever the pod's grace period (hcsshim, internal/jobcontainers).
	patience = 5 * time.Second
)

func newContainers(file string) (*containers, error) {
	made := &containers{FakeRuntimeService: fake.NewFakeRuntimeService(), all: map[string]*container{}}
	made.FakeStatus = &cri.RuntimeStatus{Conditions: []*cri.RuntimeCondition{
		{Type: cri.RuntimeReady, Status: true},
		{Type: cri.NetworkReady, Status: true},
	}}
	if file == "" {
		return made, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return made, json.Unmarshal(text, &made.settings)
}

// RunPodSandbox gives the pod the node's address.
func (c *containers) RunPodSandbox(
	ctx context.Context, config *cri.PodSandboxConfig, handler string,
) (string, error) {
	id, err := c.FakeRuntimeService.RunPodSandbox(ctx, config, handler)
	if err == nil {
		c.Lock()
		defer c.Unlock()
		sandbox := &c.Sandboxes[id].PodSandboxStatus
		sandbox.Network.Ip = machine.Loopback
		if config.GetWindows().GetSecurityContext().GetHostProcess() {
			sandbox.Linux.Namespaces.Options = &cri.NamespaceOption{Network: cri.NamespaceMode_NODE}
		}
	}
	return id, err
}

func (c *containers) CreateContainer(
	ctx context.Context, sandbox string, config *cri.ContainerConfig, pod *cri.PodSandboxConfig,
) (string, error) {
	image, found := c.Images[config.Image.Image]
	if !found && c.Images != nil {
		return "", fmt.Errorf("no image %s", config.Image.Image)
	}
	id, err := c.FakeRuntimeService.CreateContainer(ctx, sandbox, config, pod)
	if err != nil {
		return "", err
	}
	made := &container{}
	if image.Root != "" {
		made.image = &image
		name := fmt.Sprintf("%s-%s-%s-%d.log", *name, pod.Metadata.Name, config.Metadata.Name, config.Metadata.Attempt)
		made.log = filepath.Join(c.Logs, name)
		if err := c.describe(made, config, pod); err != nil {
			return "", err
		}
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.all[id] = made
	return id, nil
}

// Describe fills in what is started. Paths below mounts become this machine's.
func (c *containers) describe(made *container, config *cri.ContainerConfig, pod *cri.PodSandboxConfig) error {
	made.words = append(made.words, config.Command...)
	if len(config.Command) == 0 {
		made.words = append(made.words, made.image.Entrypoint...)
	}
	made.words = append(made.words, config.Args...)
	for _, variable := range made.image.Env {
		// A runtime looks for programs in the image's root too, where the image says where to look.
		if path, found := strings.CutPrefix(variable, "PATH="); found {
			variable = "PATH=" + path + string(os.PathListSeparator) + made.image.Root
		}
		made.env = append(made.env, variable)
	}
	own := strings.NewReplacer("127.0.0.1", machine.Loopback, "0.0.0.0", machine.Loopback)
	for _, variable := range config.Envs {
		made.env = append(made.env, variable.Key+"="+own.Replace(string(variable.Value)))
	}
	for key, value := range c.Variables[pod.Labels["app.kubernetes.io/name"]] {
		// A driver that has another folder of kubelet looks there.
		if key != "WINCSI_REGISTRATION_ENDPOINT" || !names(config, "WINCSI_KUBELET_PATH") {
			made.env = append(made.env, key+"="+value)
		}
	}
	for _, mount := range config.Mounts {
		below, all := mount.ContainerPath+"/", strings.Join(append(made.words, made.env...), "\n")
		hasToken := made.image.CallsAPI && mount.ContainerPath == token
		if !hasToken && !strings.Contains(all, below) {
			continue
		}
		link, err := c.link(mount.HostPath)
		if err != nil {
			return err
		}
		for _, texts := range [][]string{made.words, made.env} {
			for at := range texts {
				texts[at] = strings.ReplaceAll(texts[at], below, link+"/")
			}
		}
		if hasToken {
			config, err := c.kubeconfig(link)
			if err != nil {
				return err
			}
			made.words = append(made.words, "--kubeconfig="+config)
			made.env = append(made.env, "POD_NAMESPACE="+pod.Metadata.Namespace)
		}
	}
	return nil
}

func names(config *cri.ContainerConfig, variable string) bool {
	return slices.ContainsFunc(config.Envs, func(one *cri.KeyValue) bool { return one.Key == variable })
}

func (c *containers) link(to string) (string, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.links++
	link := filepath.Join(c.Folder, fmt.Sprintf("m%d", c.links))
	return link, os.Symlink(to, link)
}

// Kubeconfig has the token of the pod's account, mounted at a folder.
func (c *containers) kubeconfig(folder string) (string, error) {
	type object = map[string]any
	text, err := json.Marshal(object{
		"apiVersion": "v1", "kind": "Config", "current-context": "pod",
		"clusters": []object{{"name": "pod", "cluster": object{
			"server": c.Server, "certificate-authority": filepath.Join(folder, "ca.crt"),
		}}},
		"users":    []object{{"name": "pod", "user": object{"tokenFile": filepath.Join(folder, "token")}}},
		"contexts": []object{{"name": "pod", "context": object{"cluster": "pod", "user": "pod"}}},
	})
	if err != nil {
		return "", err
	}
	file := folder + ".kubeconfig"
	return file, os.WriteFile(file, text, 0o600)
}

func (c *containers) container(id string) (*container, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if found := c.all[id]; found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("no container %s", id)
}

func (c *containers) StartContainer(ctx context.Context, id string) error {
	made, err := c.container(id)
	if err != nil {
		return err
	}
	if made.image != nil {
		log, err := os.Create(made.log)
		if err != nil {
			return err
		}
		command := made.command(made.words)
		command.Stdout, command.Stderr = log, log
		if made.process, err = start(command); err != nil {
			return err
		}
		klog.Infof("started as %q: %s", made.words, id)
	}
	if err := c.FakeRuntimeService.StartContainer(ctx, id); err != nil || made.image == nil {
		return err
	}
	go func() {
		<-made.process.ended
		c.hasEnded(id, made.process.command.ProcessState.ExitCode())
	}()
	return nil
}

func (c *containers) hasEnded(id string, code int) {
	c.Lock()
	defer c.Unlock()
	if status := c.Containers[id]; status != nil {
		status.State = cri.ContainerState_CONTAINER_EXITED
		status.ExitCode, status.FinishedAt = int32(code), time.Now().UnixNano()
	}
}

// StopContainer does it as hcsshim does: a signal, five seconds, the end.
func (c *containers) StopContainer(ctx context.Context, id string, timeout int64) error {
	if made, err := c.container(id); err == nil && made.process != nil {
		made.process.ask()
		select {
		case <-made.process.ended:
		case <-time.After(patience):
			klog.Infof("killed: %s", id)
			made.process.kill()
			<-made.process.ended
		}
	}
	return c.FakeRuntimeService.StopContainer(ctx, id, timeout)
}

// ExecSync runs a preStop hook, in the container as its program runs in it.
func (c *containers) ExecSync(
	_ context.Context, id string, words []string, _ time.Duration,
) ([]byte, []byte, error) {
	made, err := c.container(id)
	if err != nil || made.image == nil {
		return nil, nil, err
	}
	printed, err := made.command(words).CombinedOutput()
	klog.Infof("hook %q of %s: %v %s", words, id, err, printed)
	return printed, nil, err
}

func (made *container) command(words []string) *exec.Cmd {
	command := commandLine(made.image.Root, words)
	command.Dir = filepath.VolumeName(made.image.Root) + string(filepath.Separator)
	command.Env = append(ofNode(), made.env...)
	return command
}
