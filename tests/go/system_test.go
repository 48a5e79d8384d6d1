package clients

import (
	"context"
	"testing"

	systemv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
)

// initiatorService is the service without which there is no iSCSI.
const initiatorService = "MSiSCSI"

func TestTheMachineHasASerialNumber(t *testing.T) {
	kubelet(t)
	system := dialSystemV1alpha1(t)
	answer, err := system.GetBIOSSerialNumber(deadline(t), &systemv1alpha1.GetBIOSSerialNumberRequest{})
	must(t, "GetBIOSSerialNumber", err)
	if answer.SerialNumber == "" {
		t.Error("the serial number is empty")
	}
}

func TestAServiceIsStartedAndStopped(t *testing.T) {
	kubelet(t)
	system := dialSystemV1alpha1(t)
	ctx := deadline(t)
	const service = "vds"
	stop := &systemv1alpha1.StopServiceRequest{Name: service, Force: true}
	_, err := system.StopService(ctx, stop)
	must(t, "StopService of a stopped service", err)
	wantStatus(t, service, systemv1alpha1.ServiceStatus_STOPPED)
	start := &systemv1alpha1.StartServiceRequest{Name: service}
	for range 2 {
		_, err = system.StartService(ctx, start)
		must(t, "StartService", err)
		wantStatus(t, service, systemv1alpha1.ServiceStatus_RUNNING)
	}
	_, err = system.StopService(ctx, stop)
	must(t, "StopService", err)
	wantStatus(t, service, systemv1alpha1.ServiceStatus_STOPPED)
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
	if answer.DisplayName == "" {
		t.Errorf("%s has no name for people", service)
	}
}

// startInitiator sees to it that there is iSCSI.
func startInitiator(ctx context.Context, t *testing.T) {
	t.Helper()
	system := dialSystemV1alpha1(t)
	_, err := system.StartService(ctx, &systemv1alpha1.StartServiceRequest{Name: initiatorService})
	must(t, "StartService", err)
}
