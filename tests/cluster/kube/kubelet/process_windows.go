package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/windows"
)

// A tree of processes: a shell and its program, in a job.
type tree struct{ job windows.Handle }

func (t *tree) start(command *exec.Cmd) error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return err
	}
	t.job = job
	if err := command.Start(); err != nil {
		return err
	}
	const access = windows.PROCESS_SET_QUOTA | windows.PROCESS_TERMINATE
	handle, err := windows.OpenProcess(access, false, uint32(command.Process.Pid))
	if err != nil {
		return err
	}
	defer windows.CloseHandle(handle)
	return windows.AssignProcessToJobObject(job, handle)
}

// ask does nothing: the signal is for the shell alone, which does not pass it on (kubernetes#124664).
func (t *tree) ask(*exec.Cmd) {}

func (t *tree) kill(*exec.Cmd) { _ = windows.TerminateJobObject(t.job, 1) }

// commandLine starts a program of an image for HostProcess containers as hcsshim does: by a shell, which finds it by the
// variable PATH.
func commandLine(root string, words []string) *exec.Cmd {
	escaped := make([]string, len(words))
	for at, word := range words {
		escaped[at] = syscall.EscapeArg(word)
	}
	shell := exec.Command(filepath.Join(os.Getenv("SYSTEMROOT"), "System32", "cmd.exe"))
	shell.SysProcAttr = &syscall.SysProcAttr{CmdLine: "cmd /c " + strings.Join(escaped, " ")}
	return shell
}

// ofNode are the variables of the node, which a HostProcess container has.
func ofNode() []string { return os.Environ() }
