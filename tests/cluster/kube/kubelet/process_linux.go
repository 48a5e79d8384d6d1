package main

import (
	"os/exec"
	"path/filepath"
	"syscall"
)

// A tree of processes: here a program starts none.
type tree struct{}

func (tree) start(command *exec.Cmd) error {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return command.Start()
}

func (tree) ask(command *exec.Cmd) { _ = command.Process.Signal(syscall.SIGTERM) }

func (tree) kill(command *exec.Cmd) { _ = command.Process.Kill() }

// commandLine starts a program of an image, also one for Windows: its build for Linux has the same name.
func commandLine(root string, words []string) *exec.Cmd {
	return exec.Command(filepath.Join(root, words[0]), words[1:]...)
}

// ofNode are the variables of the node, which a container has.
func ofNode() []string { return nil }
