package main

import (
	"os/exec"
	"path/filepath"
	"runtime"

	"k8s.io/klog/v2"
)

// A process of a container.
type process struct {
	command *exec.Cmd
	ended   chan struct{}
	tree    tree
}

func start(command *exec.Cmd) (*process, error) {
	started := &process{command: command, ended: make(chan struct{})}
	answer := make(chan error)
	go func() {
		// Linux ends a process with the thread that started it, as it is to end with kubelet.
		runtime.LockOSThread()
		err := started.tree.start(command)
		answer <- err
		if err == nil {
			program := filepath.Base(command.Path)
			klog.Infof("started %s", program)
			_ = command.Wait()
			klog.Infof("%s ended with %d", program, command.ProcessState.ExitCode())
			close(started.ended)
		}
	}()
	return started, <-answer
}

func (p *process) ask() { p.tree.ask(p.command) }

func (p *process) kill() { p.tree.kill(p.command) }
