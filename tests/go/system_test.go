package clients

import (
	"fmt"
	"os"
	"strings"
	"testing"

	systemv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
)

// initiatorService is the service without which there is no iSCSI.
const initiatorService = "MSiSCSI"

// lifeOfAService is all of the group, which has one version.
func lifeOfAService(t *testing.T) {
	ctx := deadline(t)
	system := dialSystemV1alpha1(t)
	machine, err := system.GetBIOSSerialNumber(ctx, &systemv1alpha1.GetBIOSSerialNumberRequest{})
	must(t, "GetBIOSSerialNumber", err)
	built, err := os.ReadFile(node("node.toml"))
	must(t, "read what the node is", err)
	if line := fmt.Sprintf("serial = %q\n", machine.SerialNumber); !strings.Contains(string(built), line) {
		t.Errorf("the serial number is %q, but the node is\n%s", machine.SerialNumber, built)
	}

	const service = "vds"
	stop := &systemv1alpha1.StopServiceRequest{Name: service, Force: true}
	must(t, "StopService of a stopped service", done(system.StopService(ctx, stop)))
	wantStatus(t, service, systemv1alpha1.ServiceStatus_STOPPED)
	for range 2 {
		must(t, "StartService", done(system.StartService(ctx, &systemv1alpha1.StartServiceRequest{Name: service})))
		wantStatus(t, service, systemv1alpha1.ServiceStatus_RUNNING)
	}
	must(t, "StopService", done(system.StopService(ctx, stop)))
	wantStatus(t, service, systemv1alpha1.ServiceStatus_STOPPED)

	told, err := system.GetService(ctx, &systemv1alpha1.GetServiceRequest{Name: service})
	must(t, "GetService", err)
	if told.DisplayName != "Virtual Disk" || told.StartType != systemv1alpha1.StartType_MANUAL {
		t.Errorf("%s is %v", service, told)
	}
}

func TestDependentsKeepAServiceRunning(t *testing.T) {
	kubelet(t)
	system := dialSystemV1alpha1(t)
	request := &systemv1alpha1.StopServiceRequest{Name: "RpcSs"}
	_, err := system.StopService(deadline(t), request)
	wantRefusal(t, "StopService of RpcSs", err, "Winmgmt")
	wantStatus(t, "RpcSs", systemv1alpha1.ServiceStatus_RUNNING)
}

func TestAServiceThatIsNotThereIsNotFound(t *testing.T) {
	kubelet(t)
	system := dialSystemV1alpha1(t)
	request := &systemv1alpha1.GetServiceRequest{Name: "no-such"}
	_, err := system.GetService(deadline(t), request)
	text := "failed to get service no-such. error: failed to query service no-such: not found"
	wantRefusal(t, "GetService", err, text)
}

func wantStatus(t *testing.T, service string, want systemv1alpha1.ServiceStatus) {
	t.Helper()
	system := dialSystemV1alpha1(t)
	answer, err := system.GetService(deadline(t), &systemv1alpha1.GetServiceRequest{Name: service})
	must(t, "GetService", err)
	if answer.Status != want {
		t.Errorf("%s is %v, want %v", service, answer.Status, want)
	}
}

// startInitiator sees to it that there is iSCSI.
func startInitiator(t *testing.T) {
	t.Helper()
	request := &systemv1alpha1.StartServiceRequest{Name: initiatorService}
	must(t, "StartService", done(dialSystemV1alpha1(t).StartService(deadline(t), request)))
}
