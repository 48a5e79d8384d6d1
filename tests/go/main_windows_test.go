package clients

import (
	"os"
	"syscall"
	"testing"
)

// TestMain ends the process without the clean-up that ExitProcess does: under Wine that has been
// seen to hang for ever when pipe operations are still pending.
func TestMain(m *testing.M) {
	code := m.Run()
	os.Stdout.Sync()
	syscall.TerminateProcess(^syscall.Handle(0), uint32(code))
}
