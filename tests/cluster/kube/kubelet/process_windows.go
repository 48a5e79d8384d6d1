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
	// It starts nothing before it is in the job.
	command.SysProcAttr.CreationFlags = windows.CREATE_SUSPENDED
	if err := command.Start(); err != nil {
		return err
	}
	const access = windows.PROCESS_SET_QUOTA | windows.PROCESS_TERMINATE | windows.PROCESS_SUSPEND_RESUME
	handle, err := windows.OpenProcess(access, false, uint32(command.Process.Pid))
	if err != nil {
		return err
	}
	defer windows.CloseHandle(handle)
	if err := windows.AssignProcessToJobObject(job, handle); err != nil {
		return err
	}
	if status, _, _ := resume.Call(uintptr(handle)); status != 0 {
		return windows.NTStatus(status)
	}
	return nil
}

var resume = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")

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
